"""Settings from `AUTOMEMORY_*` variables and a `.env` file, for the command line and the served graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from automemory.decision import Decider, Granularity, Summarizer
from automemory.errors import ConfigError

if TYPE_CHECKING:
    from automemory.memory import AutoMemory


class Settings(BaseSettings):
    """What can be set from outside; see `AutoMemory` for the meaning.

    Attributes:
        vault: The vault's folder, from `AUTOMEMORY_VAULT`; and so on for the others.
        durability: None leaves it to the command.
    """

    model_config = SettingsConfigDict(
        env_prefix="AUTOMEMORY_",
        env_file=".env",
        env_file_encoding="utf-8-sig",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    vault: Path | None = None
    model: str | None = None
    decider: str = "auto"
    prompts_dir: Path | None = None
    max_calls_per_day: int | None = None
    granularity: Granularity = "default"
    note_schema: str = "append"
    timezone: str | None = None
    agent_id: str | None = None
    durability: Literal["fsync", "os"] | None = None

    def folder(self) -> Path:
        """The vault's folder.

        Raises:
            ConfigError: if none is set.
        """
        if self.vault is None:
            raise ConfigError("no vault given: use --vault FOLDER or set AUTOMEMORY_VAULT")
        return self.vault

    def chat_model(self) -> str:
        """The model's name, for those that cannot do without.

        Raises:
            ConfigError: if none is set.
        """
        if self.model is None:
            raise ConfigError("no model given: set AUTOMEMORY_MODEL, such as openai:gpt-5-mini")
        return self.model

    def memory(self, *, durability: Literal["fsync", "os"] = "fsync", **options: Any) -> AutoMemory:
        """An `AutoMemory` with these settings.

        Args:
            durability: Used unless the settings say otherwise.
            options: Further arguments of `AutoMemory`; they come before the settings.

        Raises:
            ConfigError: if a setting is wrong or no vault is set.
        """
        from automemory.memory import AutoMemory

        given: dict[str, Any] = {
            "model": self.model,
            "decider": self.decider,
            "prompts_dir": self.prompts_dir,
            "max_calls_per_day": self.max_calls_per_day,
            "granularity": self.granularity,
            "note_schema": self.note_schema,
            "timezone": self.timezone,
            "agent_id": self.agent_id,
            "durability": self.durability or durability,
        }
        return AutoMemory(self.folder(), **given | options)

    def deciders(self, timeout_s: float = 20.0) -> tuple[Decider, Summarizer]:
        """Who decides and who sums up by these settings.

        Raises:
            ConfigError: as `memory`.
        """
        from automemory.deciders import choose

        chosen = choose(
            self.decider,
            self.model,
            encoder=None,
            prompts_dir=self.prompts_dir,
            timeout_s=timeout_s,
            max_calls_per_day=self.max_calls_per_day,
        )
        return chosen[0], chosen[2]


def load_settings(**given: Any) -> Settings:
    """The settings: what is given and not None, then the environment, then `.env`, then the defaults.

    Raises:
        ConfigError: if a value makes no sense; the message names it.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise ConfigError(f"{name}={first['input']!r}: {first['msg']}") from error
    except (SettingsError, UnicodeDecodeError) as error:
        raise ConfigError(f"settings cannot be read: {error}") from error
