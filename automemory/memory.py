"""The front door: record turns, close events, ask how things are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from automemory._worker import blocking, worker
from automemory.agent_store import Durability, Options
from automemory.condenser import Condenser
from automemory.deciders import choose
from automemory.decision import Decider, Exchange, Granularity, NotifyCandidate
from automemory.engine import Engine
from automemory.injected import CONTEXT_CHARS
from automemory.intake import Intake, Submission, zone_of
from automemory.judge import Judge
from automemory.limits import Limits
from automemory.offers import check_offers
from automemory.recorder import Recorder
from automemory.redact import make_redactor
from automemory.reference import LIMIT
from automemory.result import EventRef, Status, TurnResult
from automemory.schema_file import load_schema
from automemory.segmenter import Graph
from automemory.turn import Message, Turn, read_messages, split_turns, steps
from automemory.vault.files import whole_path
from automemory.vault.naming import check_agent_id
from automemory.vaults import Pool, Template

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from automemory.deciders.encoder import Encoder
    from automemory.synchronizer.result import SynchronizerResult
    from automemory.synchronizer.settings import Strategy

OnFailure = Literal["continue", "error"] | Callable[[Exception], object]


class AutoMemory:
    """Keeps an agent's conversation as events in a Markdown vault, turn by turn.

    Args:
        vault: The vault's folder; made if it does not exist. It may hold placeholders, as in
            `vaults/{user_id}`, whose values come with each run of an agent, or from `filled`.
        model: A LangChain chat model, or an init string such as `openai:gpt-5-mini`; None for none.
        decider: `"auto"` (the model if there is one, else the embedded decider), `"local"`, `"llm"`,
            `"cascade"` (the model only where it matters), or an object with `async decide(context)`.
        encoder: The local decider's sentence encoder, if not the embedded one.
        agent_id: Names this agent among several on one vault, and prefixes its folders.
        timezone: IANA name of the vault's zone; the host's zone if None.
        granularity: `coarse`, `default` or `fine`: how small a step away makes a new event.
        note_schema: What an event is made of: `"append"` (one note, to which its turns are appended),
            `"notes"` (turns in a file of their own, an overview and views that a model keeps up to date), or
            the path of a YAML file of one's own. An event that is open goes on in the form it has.
        inherit_window_days: How many days back an event can be gone on with.
        redact: Masks what the built-in detectors do not know; gets a text and returns it masked.
        exclude: What is never recorded: names of tools, or a test for messages.
        prompts_dir: A folder whose prompt files replace those that ship.
        max_calls_per_day: Hard budget of model calls a day, past which the local decider decides.
        background: Whether `record` returns as soon as the turn is stored, with the outcome `accepted`; it is
            then filed behind its back, in order. `flush` and `close` wait for that.
        durability: `fsync` syncs all that is promised; `os` leaves that to the system.
        single_stream: Whether all threads of the agent are one stream.
        recent_scope: Whose events a turn may go back to: the agent's, or only those of its own stream.
        decide_timeout_s: Time budget of a decision, and of a final summary, in seconds.
        lock_timeout_s: Longest wait for the vault's lock, in seconds.
        offer_turns: For how many of a thread's turns, after the one it came with, a resource stays on offer,
            unless one links it; in any case no longer than `inherit_window_days`.
        max_turns_per_event, max_event_chars: Safety caps; past them an event is continued in a new one.
        max_tool_chars, max_message_chars: Longer tool output and messages lose their middle.
        clock: Gives the time of a turn that carries none.

    Raises:
        ConfigError: if an argument makes no sense.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str],
        *,
        model: BaseChatModel | str | None = None,
        decider: str | Decider = "auto",
        encoder: Encoder | None = None,
        agent_id: str | None = None,
        timezone: str | None = None,
        granularity: Granularity = "default",
        note_schema: str | os.PathLike[str] = "append",
        inherit_window_days: int = 7,
        redact: Callable[[str], str] | None = None,
        exclude: Callable[[Message], bool] | Iterable[str] | None = None,
        prompts_dir: str | os.PathLike[str] | None = None,
        max_calls_per_day: int | None = None,
        background: bool = False,
        durability: Durability = "fsync",
        single_stream: bool = False,
        recent_scope: Literal["agent", "stream"] = "agent",
        decide_timeout_s: float = 20.0,
        lock_timeout_s: float = 10.0,
        offer_turns: int = 10,
        max_turns_per_event: int = 200,
        max_event_chars: int = 400_000,
        max_tool_chars: int = 4_000,
        max_message_chars: int = 20_000,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        prompts = whole_path(prompts_dir) if prompts_dir is not None else None
        chosen = choose(
            decider,
            model,
            encoder=encoder,
            prompts_dir=prompts,
            timeout_s=decide_timeout_s,
            max_calls_per_day=max_calls_per_day,
        )
        redactor = make_redactor(redact)
        self._template = template = Template(os.fspath(vault))
        options = Options(
            root=whole_path(vault),
            agent=check_agent_id(agent_id) if agent_id else "",
            zone=zone_of(timezone),
            limits=Limits(max_turns_per_event, max_event_chars, inherit_window_days, offer_turns),
            scope=recent_scope,
            single_stream=single_stream,
            decide_timeout_s=decide_timeout_s,
            lock_timeout_s=lock_timeout_s,
            durability=durability,
            placeholders=template.names,
            schema=load_schema(note_schema),
        )
        intake = Intake.of(redactor, exclude, max_message_chars, max_tool_chars)
        judge = Judge(*chosen, redactor, decide_timeout_s, granularity, Counter())
        self._engine = Engine(options, intake, judge, clock, worker)
        self._recorder = Recorder(self._engine, background=background)
        self._condenser = Condenser(self._engine, self._recorder, model, redactor, prompts, clock)
        self.background, self.decide_timeout_s = background, decide_timeout_s
        self._pool = Pool(self._member, lambda member: worker.submit(member._recorder.release()))

    @property
    def graph(self) -> Graph:
        """The compiled turn graph: takes `messages` and `thread_id`, gives `result`."""
        return self._engine.graph

    @property
    def model_tokens(self) -> int | None:
        """How many tokens the memory's model takes, if there is one and it says so."""
        from automemory.deciders.chat import Chat

        model = self._condenser.model
        return Chat(model).max_input_tokens if model is not None else None

    # Turns

    async def arecord(
        self,
        turn: Any,
        *,
        thread_id: str = "main",
        event: str | None = None,
        notify: Sequence[NotifyCandidate] = (),
        turn_id: str | None = None,
    ) -> TurnResult:
        """Record one turn.

        Args:
            turn: A `Turn`, LangChain messages, or role/content dicts. A message's time is its `timestamp` (in
                `additional_kwargs` of a LangChain message): ISO 8601, or seconds or milliseconds since 1970.
            thread_id: The conversation it belongs to.
            event: `"new"` to open a new event, or the slug of the event it belongs to, if the caller knows
                better than the decider.
            notify: Resources offered to the agent with this turn. They are shown to the decider as hints, and
                stay on offer for the thread's next turns (`offer_turns`) until one links them.
            turn_id: The turn's id if it is known to be one that is recorded, whatever ids its messages have.

        Returns:
            What happened to it. If the vault cannot be written now, `outcome` is `deferred`.

        Raises:
            ConfigError: if there is no message in it, if a path in `notify` cannot be that of a file in the
                vault, or if called from inside this stream's own decision.
        """
        handed = self._handed(turn, thread_id, event, notify, turn_id)
        return await worker.arun(self._recorder.record(handed))

    record = blocking(arecord)

    async def arecord_messages(self, history: Any, *, thread_id: str = "main") -> list[TurnResult]:
        """Record the turns of a history that are not recorded yet.

        Turns are known by the id of their first message. A history without ids is aligned with what the
        stream has recorded; what lies beyond is new.

        Returns:
            A result for each turn of the history.
        """
        return await worker.arun(self._history(history, thread_id))

    record_messages = blocking(arecord_messages)

    def read_ahead(self, turns: Iterable[Turn]) -> None:
        """Show the decider turns that are recorded next: several at once are read faster than one by one.

        Nothing is stored, and what is decided does not depend on it.
        """
        self._engine.judge.read_ahead([Exchange.of(steps(turn.messages), turn.at) for turn in turns])

    async def anotify(self, candidates: Sequence[NotifyCandidate], *, thread_id: str = "main") -> None:
        """Offer resources that arrive between turns, or while the agent runs.

        They are shown to the decider with the thread's next turns, as those given with a turn are: for
        `offer_turns` turns, until one links them. The agent's own hook (middleware, callbacks, node) needs to
        know nothing of it, and any process may call this.

        Args:
            candidates: The resources; one that is on offer already is offered anew.
            thread_id: The conversation they are for.

        Raises:
            ConfigError: if a path cannot be that of a file in the vault; nothing is offered then.
            VaultError: if they cannot be stored.
        """
        await worker.arun(self._recorder.notify(check_offers(candidates), thread_id))

    notify = blocking(anotify)

    async def arecorded_as(self, history: Any, *, thread_id: str = "main") -> str | None:
        """The id under which the last turn of a history is recorded, known by the words of its turns.

        For hosts that hand in the whole conversation each time, with no lasting ids. None if it is new.
        """
        return await worker.arun(self._recorder.find(split_turns(read_messages(history)), thread_id))

    recorded_as = blocking(arecorded_as)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Turns handed in meanwhile are never recorded, also not if the history is handed in again later."""
        self._engine.acceptance.paused += 1
        try:
            yield
        finally:
            self._engine.acceptance.paused -= 1

    # Events

    async def aclose_event(self, *, thread_id: str = "main", closed_by: str = "request") -> EventRef | None:
        """Close the stream's active event with its final summary; None if there is none."""
        self._recorder.refuse_own(thread_id)
        return await worker.arun(self._recorder.close_event(thread_id, closed_by))

    close_event = blocking(aclose_event)

    async def areference(self, *, thread_id: str = "main", max_chars: int = LIMIT) -> str:
        """What the note of the thread's active event says, marked as reference data for a model.

        Without the turns. In a thread that has no active event it is the agent's latest one that is not
        settled, unless `recent_scope` keeps threads apart. Empty if there is none.
        """
        return await worker.arun(self._recorder.reference(thread_id, max_chars))

    reference = blocking(areference)

    # The workspace

    async def asynchronize(
        self,
        messages: Any,
        *,
        workspace: str | None = None,
        thread_id: str = "main",
        strategy: Strategy = "tools",
        include_turns: bool = False,
    ) -> SynchronizerResult:
        """Bring the summary note of the thread's workspace up to date from a conversation, by the model.

        Args:
            messages: LangChain messages or role/content dicts, oldest first.
            workspace: The task's title, or a path `daily/<date>/<slug>/`, if it is not the active event.
            thread_id: The thread, whose active event is the workspace.
            strategy: See `Synchronizer`.
            include_turns: Whether the note handed back has its recorded turns.

        Returns:
            What was done, and the note; failures are told in it.

        Raises:
            ConfigError: if there is no model, or an argument makes no sense.
        """
        work = self._condenser.synchronize(messages, workspace, thread_id, strategy, include_turns)
        return await worker.arun(work)

    synchronize = blocking(asynchronize)

    async def acontext(
        self,
        messages: Any,
        *,
        thread_id: str = "main",
        strategy: Strategy = "tools",
        max_chars: int = CONTEXT_CHARS,
        timeout_s: float | None = None,
    ) -> str:
        """What an agent goes on from once these messages leave its context, marked as reference data.

        The workspace's note, which the model brings up to date first. Without a model, or if it fails or has
        nothing to note, what the memory knows of the thread's active event, and the conversation, shortened.

        Args:
            messages: LangChain messages or role/content dicts, oldest first.
            thread_id: The thread.
            strategy: See `Synchronizer`.
            max_chars: Longest text.
            timeout_s: How long the model has, in seconds, if that is less than a `Synchronizer` gives it.
        """
        work = self._condenser.context(messages, thread_id, strategy, max_chars, timeout_s)
        return await worker.arun(work)

    context = blocking(acontext)

    def summarizer(
        self, *, strategy: Strategy = "tools", max_chars: int = CONTEXT_CHARS
    ) -> Runnable[Any, str]:
        """A `summarizer=` for the summarization middlewares of LangChain and deepagents: see `acontext`.

        Give them `trim_tokens_to_summarize=None` too: by default they hand on the last 4 000 tokens only.
        """
        from automemory.compaction import NoteSummarizer

        return NoteSummarizer(self, strategy, max_chars)

    # The memory itself

    def node(self, *, on_failure: OnFailure = "continue") -> Runnable[Any, Any]:
        """A node for a LangGraph graph whose state has `messages`: it records the last turn in them.

        Args:
            on_failure: See `AutoMemoryMiddleware`.
        """
        from automemory.node import make_node

        return make_node(self, on_failure)

    @contextmanager
    def filled(self, values: Mapping[str, Any]) -> Iterator[AutoMemory]:
        """This memory over the vault that these values of the placeholders name.

        The vaults used last stay open. A memory without placeholders is given back as it is.

        Raises:
            ConfigError: if a value is missing, or cannot be one name in a path.
        """
        if not self._template.names:
            yield self
            return
        with (
            self._pool.use(self._template.fill(values)) as member,
            member.paused() if self._engine.acceptance.paused else nullcontext(),
        ):
            yield member

    async def aflush(self) -> None:
        """File everything that is stored but not filed yet, unfinished turns included."""
        await worker.arun(self._each(Recorder.flush))

    flush = blocking(aflush)

    async def astatus(self) -> Status:
        """How this memory is doing; with placeholders, as far as that is known without a vault."""
        return self._recorder.brief() if self._template.names else await worker.arun(self._recorder.status())

    status = blocking(astatus)

    def follow(self, work: Future[Any]) -> None:
        """Have `flush` and `close` wait for work on this memory that an integration started."""
        self._recorder.follow(work)

    def failed(self, error: BaseException) -> None:
        """Count a failure that the agent is not to notice: `status` shows it."""
        self._engine.counters["failures"] += 1
        self._engine.last_error = str(error)

    async def aclose(self) -> None:
        """File what waits and let go of the vault. The active event stays open."""
        await worker.arun(self._each(Recorder.close))

    close = blocking(aclose)

    def stream_key(self, thread_id: str = "main") -> str:
        """The key by which turn ids know the stream of a thread."""
        return self._engine.vault.stream(thread_id)

    def recorded_ids(self, thread_id: str = "main") -> list[str]:
        """Ids of all turns known of a thread, in order."""
        return worker.run(self._recorder.recorded_ids(thread_id))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _handed(
        self,
        turn: Any,
        thread_id: str,
        event: str | None,
        notify: Sequence[NotifyCandidate],
        turn_id: str | None,
    ) -> Submission:
        self._recorder.refuse_own(thread_id)
        return Submission.of(turn, thread_id, event, check_offers(notify), turn_id)

    def _history(self, history: Any, thread_id: str) -> Coroutine[Any, Any, list[TurnResult]]:
        self._recorder.refuse_own(thread_id)
        return self._recorder.record_messages(split_turns(read_messages(history)), thread_id)

    async def _each(self, do: Callable[[Recorder], Awaitable[None]]) -> None:
        """Do something with every vault that is open, once what was started is done."""
        await self._recorder.caught_up()
        for memory in self._pool.opened() if self._template.names else [self]:
            await do(memory._recorder)

    def _member(self, root: Path) -> AutoMemory:
        """This memory over one vault of its template; the decider, and what it costs, is shared."""
        member = copy(self)
        member._template = Template(str(root), plain=True)
        member._engine = self._engine.over(root)
        member._recorder = Recorder(member._engine, background=self.background)
        member._condenser = self._condenser.over(member._engine, member._recorder)
        return member
