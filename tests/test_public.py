"""What can be imported from `automemory`, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import automemory

HEAVY = [
    "langchain",
    "langchain_core",
    "langgraph",
    "numpy",
    "openai",
    "pydantic",
    "sqlite3",
    "typer",
    "rich",
]


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    script = (
        f"import sys, json; {statement}; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(run.stdout))


def test_all_is_sorted_and_what_is_visible() -> None:
    assert automemory.__all__ == sorted(automemory.__all__) == dir(automemory)
    assert len(set(automemory.__all__)) == len(automemory.__all__)
    assert all(getattr(automemory, name) is not None for name in automemory.__all__)


def test_names_are_the_ones_their_modules_define() -> None:
    """A public name is the same object wherever it is imported from."""
    for name in set(automemory.__all__) - {"__version__"}:
        found = getattr(automemory, name)
        assert found.__name__ == name and found.__module__.startswith("automemory.")


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = automemory.Nothing  # type: ignore[attr-defined]


def test_import_is_light() -> None:
    """Models, graphs and numbers are loaded when they are used."""
    assert loaded_by("import automemory; automemory.AutoMemoryError").isdisjoint(HEAVY)


def test_reading_a_vault_needs_no_graph_and_no_model() -> None:
    """The layers above get by with the reader alone."""
    heavy = {"langchain", "langchain_core", "langgraph", "numpy", "openai", "sqlite3"}
    assert loaded_by("from automemory import Reader").isdisjoint(heavy)


def test_local_memory_loads_no_model_client() -> None:
    """The embedded decider needs neither a client nor a chat library."""
    assert loaded_by("from automemory import AutoMemory").isdisjoint(
        {"openai", "langchain_openai", "langchain"}
    )
