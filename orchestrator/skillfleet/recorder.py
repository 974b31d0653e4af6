"""The recording of a conversation that has ended, from what the ledger holds."""

from collections.abc import Callable, Iterable, Mapping

from .conversations.models import Conversation
from .conversations.recorded import Asked
from .errors import BadRequestError
from .events import Entry
from .llm.prompts import users_own
from .llm.recording import Recording


def recorded(
    conversation_id: str, load: Callable[[str], Conversation], events: Callable[[str], Iterable[Entry | None]]
) -> Recording:
    """With the recordings of its children.

    Raises:
        BadRequestError: it has not ended, or was not submitted to be recorded.
    """
    conversation = load(conversation_id)
    if not conversation.terminal:
        raise BadRequestError(f"{conversation_id} has not ended ({conversation.status}); wait for its result first")
    if not conversation.spec.record:
        raise BadRequestError(f"{conversation_id} was not recorded; submit with --record FILE, or record=True")
    entries = [entry for entry in events(conversation_id) if entry]
    # One that was told to end may never have begun.
    ended = (child for child in conversation.children if child.status and (child.begun or not child.unwanted))
    children = {child.key: recorded(child.id, load, events) for child in ended}
    return recording(conversation, entries, children)


def recording(conversation: Conversation, entries: Iterable[Entry], children: Mapping[str, Recording]) -> Recording:
    """`entries`: its events; `children`: the recordings of its children, by their calls' keys."""
    spec = conversation.spec
    prompts = [message.content or "" for message in spec.opening if message.role == "user"]
    return Recording(
        id=conversation.id,
        model=spec.model,
        prompt=prompts[-1] if prompts else "",
        system=users_own(spec.opening[0].content or "") or None,
        skills=spec.skills,
        subagents=spec.subagents,
        answer_schema=spec.answer_schema,
        status=conversation.status,
        answer=conversation.answer,
        error=conversation.error,
        snapshot=conversation.snapshot,
        used=conversation.used,
        messages=conversation.messages,
        turns=_told_once([Asked.model_validate(entry.data) for entry in entries if entry.type == "recorded"]),
        children=dict(children),
    )


def _told_once(turns: list[Asked]) -> tuple[Asked, ...]:
    """A system prompt that is that of the turn before is left out."""
    before = [None, *(turn.system for turn in turns)]
    return tuple(
        turn.model_copy(update={"system": None}) if turn.system == earlier else turn
        for turn, earlier in zip(turns, before, strict=False)
    )
