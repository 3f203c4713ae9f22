"""The steps of the turn state machine (`segmenter.py`): what each does, and what they know of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict

from automemory import planning, routing
from automemory._worker import Worker
from automemory.acceptance import Acceptance
from automemory.agent_vault import AgentVault
from automemory.closer import Closer
from automemory.decision import EventSummary, EventView, Exchange, NotifyCandidate, Verdict
from automemory.errors import Conflict, NameTaken, Unwritable, VaultError
from automemory.intake import Accepted, Submission
from automemory.judge import Judge
from automemory.offers import check_offers, taken_up
from automemory.result import EventRef, TurnResult
from automemory.routing import Located, Place, Route, Target
from automemory.turn import Step, steps
from automemory.vault.commit import Basis
from automemory.vault.edits import Append, Create, Edit, Filing, Merge, Plan, UpdateIndex, merged
from automemory.vault.event import EventHead, RecordedTurn
from automemory.vault.layout import day_index_path
from automemory.vault.note import turn_block
from automemory.vault.quoting import read_inline
from automemory.vault.tables import TurnRow
from automemory.view_keeper import ViewKeeper, ViewUpdate

_TRIES = 3
ENDING = frozenset({"switch", "day-end", "cap"})  # ways on which the active event is closed
GOING_ON = frozenset({"continue", "extend"})  # ways on which no event is opened


class TurnInput(TypedDict, total=False):
    """A turn's messages (or a `Turn`), its thread, and what the caller knows of its event."""

    messages: Any
    thread_id: str
    event: str | None
    notify: tuple[NotifyCandidate, ...]
    turn_id: str
    row: TurnRow


class TurnOutput(TypedDict):
    result: TurnResult


class TurnState(TurnInput, total=False):
    """What the nodes know of a turn under way."""

    accepted: Accepted
    located: Located
    verdict: Verdict
    decided_on: str
    way: Route
    closing: tuple[EventSummary | None, bool]
    target: Target
    edits: tuple[Edit, ...]
    block: RecordedTurn
    head: EventHead
    place: Place | None
    view: EventView | None
    kept: ViewUpdate
    tries: int
    result: TurnResult


@dataclass(frozen=True, slots=True)
class Components:
    """What the nodes share.

    Attributes:
        locate: Where a turn stands once its stream's older turns are filed.
        finished: The result of a turn that was filed by another run meanwhile.
    """

    worker: Worker
    vault: AgentVault
    acceptance: Acceptance
    judge: Judge
    closer: Closer
    keeper: ViewKeeper
    locate: Callable[[TurnRow, Accepted], Awaitable[tuple[TurnRow | None, Located | None]]]
    finished: Callable[[TurnRow, TurnRow | None], TurnResult]


class Nodes:
    """The nodes, over what they share."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._vault = components.vault

    async def accept(self, state: TurnState) -> TurnState:
        """Store the turn durably; from here on it cannot be lost."""
        row = state.get("row")
        if row is None:
            handed = Submission.of(
                state["messages"],
                state.get("thread_id", "main"),
                state.get("event"),
                check_offers(state.get("notify", ())),
                state.get("turn_id"),
            )
            found = await self._components.acceptance.accept(handed)
            if isinstance(found, TurnResult):
                return {"result": found}
            row = found
        if row.payload is None:
            return {"result": await asyncio.to_thread(self._components.acceptance.duplicate, row)}
        return {"row": row, "accepted": Accepted.load(row.payload), "tries": 0}

    async def locate(self, state: TurnState) -> TurnState:
        """Find the stream's active event and the events the turn may go back to."""
        current, located = await self._components.locate(state["row"], state["accepted"])
        if current is None or located is None:
            return {"result": await asyncio.to_thread(self._components.finished, state["row"], current)}
        return {"row": current, "located": located, **({"way": "extend"} if located.extends else {})}

    async def decide(self, state: TurnState) -> TurnState:
        """Ask whether the turn goes on with the active event."""
        located, accepted = state["located"], state["accepted"]
        active = located.active.head.path if located.active else ""
        verdict = state.get("verdict")
        if verdict is None or state.get("decided_on") != active:
            verdict = await self._components.judge.decide(located, accepted)
        way = routing.route(located, verdict, self._vault.options.limits)
        return {"verdict": verdict, "decided_on": active, "way": way}

    async def close(self, state: TurnState) -> TurnState:
        """Sum up the event that ends."""
        place = state["located"].active
        assert place is not None
        return {"closing": await self._components.closer.sum_up(place, state["verdict"].ms)}

    async def open(self, state: TurnState) -> TurnState:
        """Choose the event to open: go back, inherit or create."""
        goal = routing.target(state["way"], state["located"], state["verdict"], state["accepted"])
        return {"target": goal}

    async def append(self, state: TurnState) -> TurnState:
        """Plan the turn's block."""
        return await asyncio.to_thread(self._plan_block, state)

    def after_append(self, state: TurnState) -> str:
        """Only a schema with sections to keep has anything to ask and plan for them."""
        return "view" if self._vault.options.schema.sections else "index"

    async def view(self, state: TurnState) -> TurnState:
        """Ask what the turn adds to the sections that are kept, and plan it."""
        place, block, located = state["place"], state["block"], state["located"]
        before = state.get("kept", ViewUpdate())
        kept = await self._components.keeper.keep(state["head"], place, block, located, before)
        return {"edits": (*state["edits"], *kept.edits), "kept": kept}

    async def index(self, state: TurnState) -> TurnState:
        """Plan what is closed, and the day index."""
        located, accepted = state["located"], state["accepted"]
        before: list[Edit] = []
        if state["way"] in ENDING and located.active:
            summary, pending = state["closing"]
            before += planning.close_edits(located.active.head, accepted.at, state["way"], summary, pending)
        for stray in located.strays:
            before += planning.close_edits(stray, accepted.at, "recovery", None, False)
        if located.gone:
            before.append(UpdateIndex(day_index_path(located.gone.path.split("/")[1]), gone=[located.gone]))
        return {"edits": merged([*before, *state["edits"]])}

    async def commit(self, state: TurnState) -> TurnState:
        """Write it all, or go back to `locate` if the vault changed meanwhile."""
        row, block, head = state["row"], state["block"], state["head"]
        assert block.at is not None
        filing = Filing(row.id, head.path, block.n, block.part, block.at.timestamp())
        plan = Plan(state["edits"], row.stream, filing)
        try:
            await self._vault.commit(plan, self._basis(state), head.path, state.get("view"))
        except Conflict as error:
            if isinstance(error, NameTaken):
                return {}
            if state["tries"] + 1 >= _TRIES:
                raise Unwritable(f"the vault keeps changing ({error}): close it in other programs") from error
            return {"tries": state["tries"] + 1}
        if state["located"].offers:
            await asyncio.to_thread(self._end_offers, state)
        return {"result": self._result(state, plan)}

    def _plan_block(self, state: TurnState) -> TurnState:
        """The block and where it goes: at the end of a note, or in a new one."""
        row, accepted, located, way = state["row"], state["accepted"], state["located"], state["way"]
        extend = way == "extend"
        new = steps(accepted.turn.messages, row.filed if extend else 0)
        verdict = None if extend else state["verdict"]
        part = row.parts + 1 if extend else 1
        links = located.links
        if verdict:
            links |= self._vault.locator.existing([Step("assistant", verdict.decision.summary_patch)])
        block = planning.block_of(accepted, row.id, new, part, verdict, links)
        seen = Exchange.of(new, block.at, read_inline(block.patch))
        if way in GOING_ON:
            place = located.active
            assert place is not None
            append = self._append(place, block)
            view = (
                place.view.with_turn(seen, len(append.data.decode())) if place.view and not extend else None
            )
            return {"edits": (append,), "block": block, "head": place.head, "place": place, "view": view}
        return self._plan_event(state, block, seen)

    def _plan_event(self, state: TurnState, block: RecordedTurn, seen: Exchange) -> TurnState:
        goal, located = state["target"], state["located"]
        if goal.how == "resumed" and goal.source:
            edits = planning.resume_edits(goal.source)
            place = self._vault.locator.place(goal.source.path, after=edits)
            if place is not None:
                edits.append(self._append(place, block))
                planned: TurnState = {"edits": tuple(edits), "head": place.head, "place": place}
                return {**planned, "block": block, "view": None}
        goal, taken, body = self._vault.locator.beside(goal, located.date)
        edits, head = planning.create_edits(
            goal,
            located,
            state["accepted"],
            block,
            self._vault.options.agent,
            taken,
            body,
            apart=self._vault.options.schema.apart,
        )
        created = next(edit for edit in edits if isinstance(edit, Create))
        view = planning.opened_view(head, seen, len(created.text))
        return {
            "edits": tuple(edits),
            "block": block,
            "head": head,
            "place": None,
            "view": view,
            "target": goal,
        }

    def _end_offers(self, state: TurnState) -> None:
        """End the offers that the turn took up."""
        merged_in = [text for e in state["edits"] if isinstance(e, Merge) for text in e.new.values()]
        said = "\n".join([turn_block(state["block"]), *merged_in])
        if taken := taken_up(state["located"].offers, said):
            with suppress(VaultError):  # the turn is filed; an offer that stays goes out of date
                self._vault.store.state.end_offers(state["row"].stream, taken)

    def _append(self, place: Place, block: RecordedTurn) -> Append:
        return Append(place.head.record, place.size, place.lead, turn_block(block), place.newline)

    def _basis(self, state: TurnState) -> Basis:
        located = state["located"]
        created = [edit.path.rpartition("/")[0] for edit in state["edits"] if isinstance(edit, Create)]
        known = {path: seen for p in (located.active, state["place"]) if p for path, seen in p.known.items()}
        kept = state["kept"].seen if "kept" in state else {}
        return Basis(located.version, {**kept, **known}, tuple(created))

    def _result(self, state: TurnState, plan: Plan) -> TurnResult:
        head, located, way = state["head"], state["located"], state["way"]
        how = "continued" if way in GOING_ON else state["target"].how
        closed = None
        if way in ENDING and located.active:
            ended = located.active.head
            closed = EventRef(ended.path, ended.slug, ended.title, "closed")
        return TurnResult(
            outcome="extended" if way == "extend" else "recorded",
            turn_id=state["row"].id,
            event=EventRef(head.path, head.slug, head.title, how),
            closed=closed,
            verdict=state.get("verdict") if way != "extend" else None,
            files=tuple(plan.paths),
        )
