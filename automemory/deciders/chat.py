"""A chat model, prepared for short private calls. LangChain is imported only when a model is loaded."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from automemory._forks import forks
from automemory.deciders.dialect import Dialect
from automemory.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable, RunnableConfig
    from langchain_core.tools import BaseTool

_STRUCTURED: dict[str, dict[str, Any]] = {
    "json_schema": {"method": "json_schema", "strict": True},
    "tools": {"method": "function_calling", "tool_choice": "required", "parallel_tool_calls": None},
    "free-tools": {"method": "function_calling", "tool_choice": None, "parallel_tool_calls": None},
    "json_mode": {"method": "json_mode"},
}
_OURS = {"temperature", "max_tokens", "max_completion_tokens", "response_format", "tools", "tool_choice"}
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens", "max_new_tokens")


class Chat:
    """A copy of a model whose calls are single, private and bounded; the caller's object stays as it is.

    Its client does not retry, it does not stream, and unless the caller gave the model an HTTP client it has
    connections of its own, closed after each call, so that it works on any event loop.

    Args:
        model: A LangChain chat model, or an init string such as `openai:gpt-5-mini`.

    Raises:
        ConfigError: if the string names no model, or the model cannot be set up.
    """

    def __init__(self, model: BaseChatModel | str) -> None:
        self._model = _private(_load(model) if isinstance(model, str) else model)
        self._root = getattr(
            self._model, "root_async_client", None
        )  # only models of the OpenAI family have it
        if self._root is not None:
            import openai

            own = {} if getattr(self._model, "http_async_client", None) else {
                "http_client": openai.DefaultAsyncHttpxClient()
            }  # fmt: skip
            self._root = self._root.with_options(
                max_retries=0, default_headers={"Connection": "close"}, **own
            )

    @property
    def max_input_tokens(self) -> int | None:
        """How many tokens the model takes at once, if it says so."""
        profile = getattr(self._model, "profile", None)
        found = profile.get("max_input_tokens") if isinstance(profile, dict) else None
        return found if isinstance(found, int) else None

    @property
    def identity(self) -> Hashable:
        """Equal for models of the same name at the same address."""
        model: Any = self._model
        name = getattr(model, "model_name", None) or getattr(model, "model", None)
        address = self._root.base_url if self._root is not None else getattr(model, "base_url", None)
        return (type(model).__qualname__, str(address), str(name)) if name or address else id(self)

    @property
    def first_guess(self) -> Dialect:
        """What to try with an endpoint that is not known yet."""
        host = getattr(getattr(self._root, "base_url", None), "host", "")
        if isinstance(host, str) and host.endswith((".openai.com", ".azure.com")):
            return Dialect(limits=("max_completion_tokens", "max_tokens"))
        return Dialect()

    def speaking(
        self, dialect: Dialect, schema: dict[str, Any], max_tokens: int, timeout_s: float
    ) -> Runnable[Any, Any] | None:
        """What to invoke for one call; None if the model does not offer this mode.

        It returns a message, or a dict with the message under `raw`.
        """
        model = self._tuned(dialect, max_tokens, timeout_s)
        if dialect.mode == "text":
            return model
        try:
            found: Runnable[Any, Any] = model.with_structured_output(
                schema, include_raw=True, **_STRUCTURED[dialect.mode]
            )
        except Exception:  # each model class has its own way of saying that it cannot
            return None
        return found

    def calling(
        self, dialect: Dialect, tools: Sequence[BaseTool], max_tokens: int, timeout_s: float
    ) -> Runnable[Any, Any] | None:
        """What to invoke for one call that may use tools; None if the model class takes none."""
        try:
            found: Runnable[Any, Any] = self._tuned(dialect, max_tokens, timeout_s).bind_tools(tools)
        except NotImplementedError:
            return None
        return found

    def _tuned(self, dialect: Dialect, max_tokens: int, timeout_s: float) -> BaseChatModel:
        fields = type(self._model).model_fields
        changes: dict[str, Any] = {}
        if "temperature" in fields:
            changes["temperature"] = 0.0 if dialect.temperature else None
        if self._root is not None:
            root = self._root.with_options(timeout=timeout_s)
            changes |= {"root_async_client": root, "async_client": root.chat.completions}
        if self._root is None or getattr(self._model, "use_responses_api", None):
            limit = next((name for name in _LIMITS if name in fields), None)
            changes |= {limit: max_tokens} if limit else {}
        else:  # by hand, since ChatOpenAI knows only one of the two names
            extra = {
                k: v for k, v in (getattr(self._model, "extra_body", None) or {}).items() if k not in _OURS
            }
            extra |= {dialect.limits[0]: max_tokens} if dialect.limits else {}
            changes |= {"max_tokens": None, "extra_body": extra or None}
        return self._model.model_copy(update=changes)


class LazyChat:
    """A model that is set up once, when it is first needed.

    Args:
        model: A LangChain chat model, or an init string.
        needs: The method that a model's class has to have.

    Raises:
        ConfigError: if `model` is neither.
    """

    def __init__(self, model: BaseChatModel | str, needs: str) -> None:
        if not isinstance(model, str) and not hasattr(type(model), needs):
            raise ConfigError(f"model={model!r} is no chat model: give one of LangChain's, or a string")
        self._model = model
        self._chat: Chat | None = None
        self._loading = forks.lock()

    def load(self) -> Chat:
        """The model, set up.

        Raises:
            ConfigError: if the string names no model, or the model cannot be set up (a missing key, say).
        """
        with self._loading:
            if self._chat is None:
                self._chat = Chat(self._model)
            return self._chat

    async def loaded(self) -> Chat:
        """See `load`; off the loop where that takes time."""
        return self._chat if self._chat is not None else await asyncio.to_thread(self.load)


def call_config() -> RunnableConfig:
    """Marks a call as ours: kept out of the streams of the host's run, visible in its traces."""
    marks: dict[str, Any] = {"automemory": True, "lc_source": "automemory"}
    # The marker matters only to a filter of the same module, which is slow to import.
    internal = sys.modules.get("langchain.agents.middleware.internal_call_transformer")
    if internal is not None:
        marks |= internal.internal_call_metadata()
    return {"tags": ["nostream"], "metadata": marks, "run_name": "automemory"}


def _load(name: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    try:
        model: BaseChatModel = init_chat_model(name)
    except Exception as error:  # unknown provider, package not installed, no key: each has its own type
        raise ConfigError(f"model={name!r} cannot be set up: {_first_line(error)}") from error
    return model


def _private(model: BaseChatModel) -> BaseChatModel:
    fields = type(model).model_fields
    changes: dict[str, Any] = {"disable_streaming": True}
    for name, value in {"streaming": False, "max_retries": 0}.items():
        changes |= {name: value} if name in fields else {}
    if isinstance(kwargs := getattr(model, "model_kwargs", None), dict):
        changes["model_kwargs"] = {key: value for key, value in kwargs.items() if key not in _OURS}
    copy = model.model_copy(update=changes)
    for name in set(vars(copy)) - set(fields):  # clients that were made with the old settings
        if isinstance(getattr(type(copy), name, None), cached_property):
            del vars(copy)[name]
    return copy


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
