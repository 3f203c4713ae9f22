"""The cheap strategy: the model says once what is new, code merges and writes it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from automemory.deciders.endpoint import AskError, Endpoint, Messages
from automemory.errors import VaultError
from automemory.synchronizer.gather import Gathered, folder_of, titled
from automemory.synchronizer.journal import Journal
from automemory.synchronizer.reply import PatchReply
from automemory.synchronizer.toolkit import SectionPatch, VaultToolkit
from automemory.vault.naming import slugify

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class Patcher:
    """Asks a chat model once what is new in a task, and writes that.

    Args:
        model: A LangChain chat model, which is not changed, or an init string.
        max_tokens: Longest reply, in tokens.
        instructions: What the prompt says in every run, which is no answer.

    Raises:
        ConfigError: if `model` is neither.
    """

    def __init__(self, model: BaseChatModel | str, *, max_tokens: int, instructions: str) -> None:
        self._instructions = instructions
        self._endpoint = Endpoint(model, max_tokens=max_tokens)

    async def patch(
        self, messages: Messages, found: Gathered, toolkit: VaultToolkit, journal: Journal, left_s: float
    ) -> None:
        """Ask and write, and note down what was done.

        Raises:
            ConfigError: if the model cannot be set up.
        """
        await asyncio.to_thread(self._endpoint.load)
        try:
            answer = await self._endpoint.ask(messages, PatchReply, left_s)
        except AskError as error:
            journal.troubles.append(str(error))
            journal.calls += error.calls
            return
        journal.calls += answer.calls
        assert isinstance(answer.value, PatchReply)
        reply = answer.value.without_echoes(self._instructions)
        if reply.skip or reply.holds_nothing:
            journal.skipped = True
        else:
            await asyncio.to_thread(_write, reply, found, toolkit)


def _write(reply: PatchReply, found: Gathered, toolkit: VaultToolkit) -> None:
    """Merge what a reply says into the workspace's note; what is refused stands in the toolkit's records."""
    heads = [*found.today, *found.candidates]
    folder = found.folder or titled(reply.title, heads, found.now.date(), found.agent)
    known = found.note or any(folder_of(head.path) == folder for head in found.today)
    patch = SectionPatch(
        title="" if known else found.title or (reply.title if slugify(reply.title) else ""),
        description=reply.description,
        status={True: "completed", False: "active", None: ""}[reply.completed],
        sections=reply.sections,
        scope_changed=reply.scope_changed,
    )
    with suppress(VaultError):
        record = toolkit.apply_patch(patch, folder)
        for excerpt in reply.excerpts:
            with suppress(VaultError):
                toolkit.write(folder_of(record.path) + excerpt.file, excerpt.text)
