"""Brings the summary note of an agent's workspace up to date, and hands it back."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from automemory._prompts import load_prompt
from automemory._worker import worker
from automemory.intake import zone_of
from automemory.redact import make_redactor
from automemory.synchronizer.components import Components
from automemory.synchronizer.gather import Gatherer
from automemory.synchronizer.graph import Graph, build
from automemory.synchronizer.model import Caller
from automemory.synchronizer.patch import Patcher
from automemory.synchronizer.prompting import PROMPTS, check_prompts
from automemory.synchronizer.result import SynchronizerResult
from automemory.synchronizer.settings import Settings, Strategy
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.vault.files import whole_path
from automemory.vault.naming import check_agent_id

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from automemory.vault.store import Store


class Synchronizer:
    """Condenses what an agent is at into the summary note of its workspace.

    Called by the host when it decides: its context is nearly full, or a session ends. It compresses no
    context, watches no threshold and distils no knowledge.

    Args:
        vault: The vault's folder; made if it does not exist.
        model: A LangChain chat model, or an init string such as `openai:gpt-5-mini`.
        toolkit: The tools the model gets, used by one run at a time; by default each run has its own,
            confined to its workspace.
        console_enabled: Whether each step is told on stderr.
        timezone: IANA name of the vault's zone; the host's zone if None.
        inherit_window_days: How many days back a task can be gone on with.
        strategy: `tools` lets the model read and write with tools, in several calls; `patch` asks it once for
            what is new, and code writes it: for small models, and for cost.
        agent_id: Names this agent among several on one vault, and prefixes its folders.
        redact: Masks what the built-in detectors do not know; gets a text and returns it masked.
        prompts_dir: A folder whose prompt files replace those that ship.
        max_steps: Most calls of the model in a run.
        max_tokens: Most tokens in a run, of prompts and replies together.
        timeout_s: Longest time the model has in a run, in seconds.
        context_tokens: How many tokens the model takes at once, its reply included.
        max_prompt_chars: Most characters it is shown of the conversation and the vault.
        store: The opened vault, if there is one already.
        clock: Gives the time.

    Raises:
        ConfigError: if an argument makes no sense.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str],
        model: BaseChatModel | str,
        *,
        toolkit: VaultToolkit | None = None,
        console_enabled: bool = False,
        timezone: str | None = None,
        inherit_window_days: int = 7,
        strategy: Strategy = "tools",
        agent_id: str | None = None,
        redact: Callable[[str], str] | None = None,
        prompts_dir: str | os.PathLike[str] | None = None,
        max_steps: int = 12,
        max_tokens: int = 200_000,
        timeout_s: float = 180.0,
        context_tokens: int = 32_000,
        max_prompt_chars: int = 24_000,
        store: Store | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        settings = Settings(
            strategy, inherit_window_days, max_steps, max_tokens, timeout_s, context_tokens, max_prompt_chars
        )
        prompts = whole_path(prompts_dir) if prompts_dir is not None else None
        check_prompts(prompts)
        root = whole_path(vault)
        agent = check_agent_id(agent_id) if agent_id else ""
        masked = make_redactor(redact)
        own = partial(
            VaultToolkit,
            root,
            agent_id=agent or None,
            timezone=timezone,
            inherit_window_days=inherit_window_days,
            store=store,
            redact=masked,
            clock=clock,
        )
        components = Components(
            settings=settings,
            gatherer=Gatherer(root, agent, inherit_window_days),
            make_toolkit=_renewed(toolkit) if toolkit else lambda folder: own(workspace=folder),
            caller=Caller(model, max_tokens=settings.reply_tokens),
            patcher=Patcher(
                model,
                max_tokens=settings.reply_tokens,
                instructions=load_prompt(PROMPTS["patch"], prompts).text,
            ),
            redact=masked,
            prompts=prompts,
            zone=zone_of(timezone),
            clock=clock,
            console=console_enabled,
            worker=worker,
        )
        self.graph: Graph = build(components)

    async def asynchronize(
        self,
        messages: Any,
        workspace: str | None = None,
        *,
        include_turns: bool = False,
        active: str | None = None,
    ) -> SynchronizerResult:
        """Bring the workspace's note up to date from a conversation.

        What fails is told in the result. If the caller is cancelled, the run goes on.

        Args:
            messages: LangChain messages or role/content dicts, oldest first.
            workspace: The task's title, or a path `daily/<date>/<slug>/`; None leaves it to `active`, else to
                the model.
            include_turns: Whether the note handed back has its recorded turns.
            active: Vault path of the note of the stream's active event.

        Returns:
            What was done, and the note as it is on disk then.

        Raises:
            ConfigError: if an argument makes no sense, or the model cannot be set up.
        """
        return await worker.arun(self.run(messages, workspace, include_turns=include_turns, active=active))

    def synchronize(
        self,
        messages: Any,
        workspace: str | None = None,
        *,
        include_turns: bool = False,
        active: str | None = None,
    ) -> SynchronizerResult:
        """Bring the workspace's note up to date from a conversation; see `asynchronize`."""
        return worker.run(self.run(messages, workspace, include_turns=include_turns, active=active))

    async def run(
        self,
        messages: Any,
        workspace: str | None,
        *,
        include_turns: bool,
        active: str | None,
        timeout_s: float | None = None,
    ) -> SynchronizerResult:
        """As `asynchronize`, on the loop of the caller; in less time than usual, if that is given."""
        given = {
            "messages": messages,
            "workspace": workspace,
            "include_turns": include_turns,
            "active": active,
            "timeout_s": timeout_s,
        }
        state = await self.graph.ainvoke(given, {"run_name": "automemory-synchronizer"})
        result: SynchronizerResult = state["result"]
        return result


def _renewed(toolkit: VaultToolkit) -> Callable[[str | None], VaultToolkit]:
    """The same tools for every run, each confined to its own workspace."""

    def for_run(folder: str | None) -> VaultToolkit:
        toolkit.renew(folder)
        return toolkit

    return for_run
