"""How a conversation is stored: the spec as it was asked, where it stands, the calls of closed turns each by itself,
its messages in the stream. A step writes what it changes, however long the history (pure)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from skillfleet_workers.wire.contract import CallRef

from ..events import Entry, EntryType
from ..subagents.fork import outcome
from .ledger import FORMAT
from .messages import Message
from .models import Conversation, ConversationSpec
from .plan_runs import has_begun, quoted_places
from .runs import ToolRun

POSITION = ("spec", "state", "created")
"""Fields of the state hash that tell where a conversation stands, without the calls of closed turns."""

RUN = "run:"
"""Begins the fields of the state hash that hold the calls of closed turns."""

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What comes of data that this release cannot read: of a form that it does not know, or damaged."""

WITH_CHILDREN = 4
"""The first format that keeps of a conversation's children what is known of them."""

NO_RUNS: Mapping[str, ToolRun] = {}

MOST_KEPT = 256
_ELSEWHERE = {"spec", "messages", "paused_s", "dropped"}


def paired(flat: Sequence[str]) -> dict[str, str]:
    """A hash as a script answers it: fields and values in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def pages(read: Any) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """By stream, its entries: by RESP3 a map of lists of pages, by RESP2 a list of pairs, or nothing."""
    return {name: page[0] for name, page in read.items()} if isinstance(read, dict) else dict(read or ())


def state_json(conversation: Conversation) -> str:
    """It begins with its format, which is read without parsing it. Of the many calls of a plan only those that are on
    their way: the others stand apart."""
    recent = tuple(run for run in conversation.runs if run.ref.turn >= conversation.turn)
    if conversation.spec.plan is not None:
        recent = tuple(run for run in recent if _moves(run))
    stored = conversation.model_copy(update={"runs": recent}).model_dump_json(exclude=_ELSEWHERE)
    return f'{{"format":{FORMAT},{stored[1:]}'


def closed_runs(conversation: Conversation) -> dict[str, str]:
    """By field: the calls of the turn before. Those of earlier ones are stored, and change no more."""
    closed = (run for run in conversation.runs if run.ref.turn == conversation.turn - 1)
    return _written(closed)


def _written(runs: Iterable[ToolRun]) -> dict[str, str]:
    return {f"{RUN}{run.key}": run.model_dump_json(exclude_defaults=True) for run in runs}


def quoted_keys(conversation: Conversation, refs: Iterable[CallRef]) -> set[str]:
    """Of the calls that these ones quote, where they are a plan's."""
    plan = conversation.spec.plan
    if plan is None:
        return set()
    mine = (ref for ref in refs if ref.conversation_id == conversation.id)
    return {f"{ref.turn}.{place}" for ref in mine for place in quoted_places(plan, ref.index)}


def as_sent_from(conversation: Conversation, refs: Iterable[CallRef]) -> Conversation:
    """What of it is read for these calls to be sent: of a plan's calls that rest those that they quote."""
    unread = resting_runs(conversation).keys() - quoted_keys(conversation, refs)
    return conversation.model_copy(update={"runs": tuple(run for run in conversation.runs if run.key not in unread)})


def _moves(run: ToolRun) -> bool:
    return run.status is None and (run.asks != "" or has_begun(run))


def resting_runs(conversation: Conversation) -> dict[str, ToolRun]:
    """By key: of a plan's open turn, the calls that wait for others, or have ended."""
    if conversation.spec.plan is None:
        return {}
    return {run.key: run for run in conversation.runs if run.ref.turn == conversation.turn and not _moves(run)}


def stored_apart(conversation: Conversation, known: Mapping[str, ToolRun] = NO_RUNS) -> dict[str, str]:
    """By field: the closed calls; of a plan those that rest, but for those that are `known` to be stored as they are;
    of one with children, the calls that began those that are to be heard of, those of them that calls wait for, and
    those that were told to end; of one that is ending, that it is; in a turn with several calls, whether some wait to
    be sent; in one with calls that the orchestrator makes, those that wait for messages, and for the ledger's word;
    in one with a word of a person's, the calls that wait for one; of a child that has ended, what its parent's call
    has come to."""
    resting = resting_runs(conversation).items()
    anew = {key: run for key, run in resting if known.get(key) is not run}
    apart = closed_runs(conversation) | _written(anew.values())
    turn = [run for run in conversation.runs if run.ref.turn == conversation.turn]
    if conversation.children:
        apart["children"] = ",".join(child.key for child in conversation.open_children)
        apart["awaits"] = ",".join(sorted(conversation.awaited))
        apart["leaving"] = ",".join(child.key for child in conversation.leaving)
    if conversation.ending:
        apart["ending"] = "1"
    if len(turn) > 1:
        apart["unsent"] = "1" if conversation.unsent else ""
    if any(run.own for run in turn):
        apart["listening"] = ",".join(run.key for run in conversation.listening)
        apart["posting"] = ",".join(run.key for run in conversation.posting)
    if any(run.asks or run.decision for run in turn):
        apart["asking"] = ",".join(f"{run.key}={run.asks}" for run in conversation.with_persons)
    if conversation.terminal and conversation.spec.parent_call:
        apart["outcome"] = outcome(conversation).model_dump_json()
    return apart


def own_ms(conversation: Conversation) -> int:
    """From its acceptance to its deadline, but for the time that it was paused."""
    return round((conversation.deadline - conversation.spec.created_at - conversation.paused_s) * 1000)


def conversation_of(state: Mapping[str, str], messages: Iterable[str]) -> Conversation:
    """`messages`: the JSON of each.

    Raises:
        UNREADABLE: this release cannot read it.
    """
    spec = ConversationSpec.model_validate_json(state["spec"])
    stored = json.loads(state["state"])
    apart = [json.loads(text) for field, text in state.items() if field.startswith(RUN)]
    runs = {_place(run): run for run in (*apart, *stored.get("runs", ()))}
    if stored.get("format", 0) < WITH_CHILDREN:
        stored["children"] = [_child_then(run) for run in runs.values() if run.get("child")]
    known: dict[str, Any] = {
        "spec": spec.model_copy(update={"created_at": int(state["created"]) / 1000}),
        "messages": tuple(Message.model_validate_json(message) for message in messages),
        "runs": [runs[place] for place in sorted(runs)],
    }
    return Conversation.model_validate(stored | known | _counted(state))


def _child_then(run: dict[str, Any]) -> dict[str, Any]:
    """What is known of the child, where its parent kept that with its call."""
    key, status = "{turn}.{index}".format_map(run["ref"]), run.get("status")
    if status is None:
        run["awaits"] = [key]
    ended: dict[str | None, str] = {None: "", "succeeded": "completed", "cancelled": "cancelled"}
    return {
        "key": key,
        "id": run["child"],
        "skill": ((run.get("governing") or {}).get("skill")) or "",
        "status": ended.get(status, "failed"),
        "succeeded": status == "succeeded",
        "usage": run.get("child_usage", {}),
        "calls": run.get("child_calls", 0),
        "told": True,
    }


class OwnWritings:
    """What this process wrote last of some conversations: where that is still the last, there is no need to read it
    again, nor to write again what rests. Safe to share between threads."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, Conversation]] = {}
        self._resting: dict[str, dict[str, ToolRun]] = {}

    def note(self, after: Conversation, commit: str) -> None:
        """It is about to be stored by the commit of this name. Others may claim it before that one is answered."""
        if len(self._last) >= MOST_KEPT:
            self._last.clear()
        self._last[after.id] = commit, after

    def note_stored(self, after: Conversation) -> None:
        if len(self._resting) >= MOST_KEPT:
            self._resting.clear()
        if resting := resting_runs(after):
            self._resting[after.id] = resting

    def resting(self, name: str) -> Mapping[str, ToolRun]:
        """Its calls that are stored apart as they are."""
        return self._resting.get(name, NO_RUNS)

    def read(self, name: str, counted: Mapping[str, str]) -> Conversation | None:
        """As it stands, where its last commit was ours; None: it must be read."""
        commit, mine = self._last.get(name, ("", None))
        if mine is None or commit != counted["commit"]:
            return None
        update = _counted(counted)
        same = all(getattr(mine, field) == value for field, value in update.items())
        return mine if same else mine.model_copy(update=update)


def _counted(state: Mapping[str, str]) -> dict[str, Any]:
    """What redis counts, and no step writes."""
    return {"paused_s": int(state.get("paused") or 0) / 1000, "dropped": int(state.get("dropped") or 0)}


def _place(run: dict[str, Any]) -> tuple[int, int]:
    return run["ref"]["turn"], run["ref"]["index"]


def entry_of(cursor: str, fields: Mapping[str, str], *, live: bool = False) -> Entry:
    kind = cast(EntryType, fields["type"])
    return Entry(int(fields["seq"]), int(fields["at"]) / 1000, kind, json.loads(fields["data"]), cursor, live)
