"""Note schemas from YAML files. Two ship in `prompts/schemas`; the format is in `docs/vault-format.md`."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from automemory._prompts import SHIPPED
from automemory.decision import KeptSection
from automemory.errors import ConfigError
from automemory.schema import NOTE, TURNS_FILE, NoteSchema

MOST_SECTIONS = 12

_Heading = Annotated[
    str, StringConstraints(pattern=r"^[^\W_](?:[^\n\r#*`<>\[\]|\\]*[^\s#*_:`<>\[\]|\\])?$", max_length=60)
]
_FileName = Annotated[str, StringConstraints(pattern=r"^(?:note|[^\W_][\w-]{0,60}\.md)$")]
_About = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class _SectionFile(_Strict):
    name: _Heading
    policy: Literal["append", "replace", "set-once", "union"]
    about: _About
    items: bool = False
    dated: bool = False


class _SchemaFile(_Strict):
    turns: Literal["note", "file"]
    conserve_links: bool = False
    files: dict[_FileName, list[_SectionFile]] = {}


def load_schema(note_schema: str | PathLike[str]) -> NoteSchema:
    """A schema that ships, by its name, or a consumer's own, by its file's path.

    Raises:
        ConfigError: if there is no such schema, or something in it makes no sense; the message names the
            file, the key and the value.
    """
    if not isinstance(note_schema, str | PathLike) or not fspath(note_schema):
        raise ConfigError(f"note_schema={note_schema!r}: give 'append', 'notes', or the path of a YAML file")
    shipped = SHIPPED / "schemas" / f"{note_schema}.yaml"
    if note_schema in ("append", "notes"):
        return _read(shipped)
    path = Path(note_schema).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"note_schema={str(note_schema)!r} is no file: give 'append', 'notes', or the path of a YAML file"
        )
    return _read(path)


def _read(path: Path) -> NoteSchema:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"note schema {str(path)!r} cannot be read ({error}): repair it") from error
    try:
        found = _SchemaFile.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "[key]") or "the file"
        raise ConfigError(f"note schema {str(path)!r}: {place}={first['input']!r}: {first['msg']}") from error
    sections = tuple(
        KeptSection(file, s.name, s.policy, s.about, s.items or s.policy in {"append", "union"}, s.dated)
        for file, kept in found.files.items()
        for s in kept
    )
    _check(str(path), found, sections)
    return NoteSchema(path.stem, found.turns == "file", found.conserve_links, sections)


def _check(path: str, found: _SchemaFile, sections: tuple[KeptSection, ...]) -> None:
    def refuse(key: str, value: object, why: str) -> ConfigError:
        return ConfigError(f"note schema {path!r}: {key}={value!r}: {why}")

    if TURNS_FILE in found.files:
        raise refuse("files", TURNS_FILE, "the turns stand there; choose another name")
    if NOTE in found.files and found.turns == "note":
        raise refuse(
            "files", NOTE, "a summary note with the turns in it is only appended to; set turns: file"
        )
    if len(sections) > MOST_SECTIONS:
        raise refuse("files", len(sections), f"at most {MOST_SECTIONS} sections can be kept")
    folded = [name.casefold() for name in found.files]
    keys: set[str] = set()
    for file in found.files:
        if folded.count(file.casefold()) > 1:
            raise refuse("files", file, "another file has the same name on some systems")
    for section in sections:
        if section.key in keys or section.name.casefold() == "turns":
            raise refuse(f"files.{section.file}.name", section.name, "the name is taken")
        keys.add(section.key)
        if section.dated and section.policy != "append":
            raise refuse(f"files.{section.file}.dated", True, "only entries of policy 'append' are dated")
