"""The prompts that ship with the package, or a user's own in their place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import frontmatter
from yaml import YAMLError

from automemory.errors import ConfigError

_HERE = Path(__file__).parent
SHIPPED = _HERE / "prompts" if (_HERE / "prompts").is_dir() else _HERE.parent / "prompts"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: its text, and what its frontmatter says (`version`, `inputs`, variants)."""

    name: str
    text: str
    fields: dict[str, Any]

    def filled(self, **inputs: str) -> str:
        """The text with `{{name}}` replaced: by a value, or by the variant of that name in the frontmatter.

        Raises:
            ConfigError: if the prompt has no such variant.
        """
        text = self.text
        for name, value in inputs.items():
            variants = self.fields.get(name)
            if isinstance(variants, dict):
                if value not in variants:
                    raise ConfigError(
                        f"prompt {self.name!r} has no {name} {value!r}: add it to its frontmatter"
                    )
                value = str(variants[value])
            text = text.replace("{{" + name + "}}", value)
        return text


@lru_cache(maxsize=64)
def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """The prompt `<name>.md` from `folder` if it is there, else the one that ships.

    Raises:
        ConfigError: if the file cannot be read.
    """
    own = folder / f"{name}.md" if folder else None
    path = own if own and own.is_file() else SHIPPED / f"{name}.md"
    try:
        post = frontmatter.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise ConfigError(f"prompt {str(path)!r} cannot be read ({error}): repair or remove it") from error
    return Prompt(name, post.content.strip(), dict(post.metadata))
