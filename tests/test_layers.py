"""Dependencies point one way: who may import whom, read from the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import automemory

ROOT = Path(automemory.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
CORE = [
    *["content", "message", "turn", "decision", "boundary", "result", "errors"],
    *["redact", "injected", "shortening", "intake", "trace"],
]
PURE = ["schema", "schema_file", "offers", "vaults", "routing", "planning", "views"]
ENGINE = [
    *["agent_store", "agent_vault", "locator", "judge", "storing", "acceptance", "closer", "view_keeper"],
    *["turn_nodes", "segmenter", "engine", "recorder", "routing", "planning", "views"],
]
DISK = [f"vault.{name}" for name in ("disk", "database", "state", "catalog", "commit", "store", "reader")]


def imports(module: str) -> set[str]:
    """Every module that a module's source imports, at its head or inside a function; our own without
    `automemory.`.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found.add(node.module or "")
            found |= {f"{node.module}.{name.name}" for name in node.names}
    ours = {name.removeprefix("automemory.") for name in found if name.startswith("automemory.")}
    return {name for name in ours if name in MODULES} | {n for n in found if not n.startswith("automemory")}


def within(package: str) -> list[str]:
    return [module for module in MODULES if module == package or module.startswith(f"{package}.")]


def reaches(module: str, *packages: str) -> set[str]:
    return {name for name in imports(module) for p in packages if name == p or name.startswith(f"{p}.")}


@pytest.mark.parametrize("module", [*CORE, *PURE, *within("vault"), *within("maintenance"), *within("hook")])
def test_vault_and_values_know_no_chat_library(module: str) -> None:
    """They are readable, and usable, without langchain and langgraph; so are corrections and hooks."""
    assert not reaches(module, "langchain", "langchain_core", "langchain_openai", "langgraph")


@pytest.mark.parametrize("module", within("vault"))
def test_vault_knows_nothing_above_it(module: str) -> None:
    above = (
        set(MODULES)
        - set(within("vault"))
        - {"turn", "content", "decision", "errors", "", "_forks", "_version"}
    )
    assert not imports(module) & above


@pytest.mark.parametrize("module", CORE)
def test_values_know_no_vault(module: str) -> None:
    assert not reaches(module, "vault", "deciders")


@pytest.mark.parametrize("module", within("deciders"))
def test_deciders_know_no_vault(module: str) -> None:
    """Nor the engine: a decider sees a context and gives a verdict. How a slug is made is all it may ask."""
    assert reaches(module, "vault") <= {"vault.naming"}
    assert not reaches(module, "memory", "synchronizer", "replay", "cli", *ENGINE)


@pytest.mark.parametrize("module", PURE)
def test_plans_are_made_without_the_disk(module: str) -> None:
    """What a turn writes follows from values; only who applies it touches the vault."""
    assert not reaches(module, "memory", "deciders", *DISK, *(set(ENGINE) - set(PURE)))


@pytest.mark.parametrize("module", within("synchronizer"))
def test_the_synchronizer_stands_beside_the_engine(module: str) -> None:
    """It asks models the way deciders do, and writes through the vault; it decides no boundary."""
    assert not reaches(module, "memory", "replay", "cli", *ENGINE)
    asking = {"deciders.chat", "deciders.dialect", "deciders.endpoint", "deciders.outcome"}
    assert {name for name in reaches(module, "deciders") if name in MODULES} <= asking


@pytest.mark.parametrize("module", within("maintenance"))
def test_maintenance_decides_nothing(module: str) -> None:
    """A person's corrections, checks and repairs are plans for the vault, without decider and engine."""
    assert not reaches(module, "deciders", "synchronizer", "replay", "cli", *(set(ENGINE) - {"planning"}))


@pytest.mark.parametrize("module", within("hook"))
def test_a_hook_stores_turns_and_reads_transcripts(module: str) -> None:
    """It accepts turns as the engine does and leaves deciding to another process."""
    allowed = {"agent_store", "storing"}
    assert not reaches(module, "deciders", "synchronizer", "cli", *(set(ENGINE) - allowed))
    assert all(name.startswith("replay.importers") for name in reaches(module, "replay") if name in MODULES)


def test_only_the_turn_graph_sees_both_vault_and_deciders() -> None:
    both = {
        m
        for m in MODULES
        if reaches(m, "vault") - {"vault.naming", "vault.reader"} and reaches(m, "deciders")
    }
    assert both <= {"memory", "engine", "judge"}


@pytest.mark.parametrize("module", ENGINE)
def test_the_engine_knows_no_front_door(module: str) -> None:
    assert not reaches(module, "memory", "synchronizer", "maintenance", "hook", "host", "settings")
    assert not reaches(module, "replay", "cli", "evaluate", "report")


INTEGRATIONS = [
    *[m for package in ("replay", "cli", "evaluate", "report") for m in within(package)],
    *["middleware", "callback", "node", "host", "progress", "compaction", "settings", "notify"],
]


@pytest.mark.parametrize("module", INTEGRATIONS)
def test_integrations_see_only_the_front_door(module: str) -> None:
    """Not the engine, the graph's parts, or what writes to the disk."""
    assert not reaches(module, *ENGINE)
    pure = {"vault.event", "vault.layout", "vault.naming", "vault.links"}
    reading = {"vault.reader", "vault.backlinks", "vault.places", "vault.resolver"}
    assert reaches(module, "vault") <= pure | (reading if module == "notify" else {"vault.reader"})


def test_nothing_imports_in_a_circle() -> None:
    """At import time: following the imports at the heads of the modules never comes back."""
    heads = {
        module: {
            name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("automemory.")
            for name in [(node.module or "").removeprefix("automemory.")]
        }
        for module, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " → ".join([*above, module])
        if module not in done:
            for name in heads.get(module, set()):
                visit(name, (*above, module))
            done.add(module)

    for module in heads:
        visit(module, ())
