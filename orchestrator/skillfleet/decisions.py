"""What people say to calls that wait for one of them: a part of the Fleet."""

from collections.abc import Iterable

from skillfleet_workers.wire.shown import is_text

from .conversations.ledger import DecidedAs
from .conversations.models import Conversation
from .conversations.persons import asked_for
from .conversations.runs import Decision, ToolRun
from .errors import BadRequestError
from .opened import Opened

MAX_CHARS = 100_000
"""Of an answer, or a reason."""


class Decisions(Opened):
    """A call is named by its key (TURN.INDEX), as `Report.waiting_for` and the event `asked` have it. The first word
    on a call counts."""

    def approve(self, conversation_id: str, call: str | None = None, *, reason: str = "") -> tuple[str, ...]:
        """The call may be made; without one, all of the conversation's that wait for leave. The keys of the calls.

        Raises:
            BadRequestError: no such call waits for that (any more).
        """
        return self._decide(conversation_id, call, Decision(verdict="approved", text=_checked(reason)))

    def deny(self, conversation_id: str, call: str | None = None, *, reason: str = "") -> tuple[str, ...]:
        """The call may not be made; the model is told so, and the reason. Else as `approve`."""
        return self._decide(conversation_id, call, Decision(verdict="denied", text=_checked(reason)))

    def answer(self, conversation_id: str, text: str, call: str | None = None) -> str:
        """To a question of the model's; without a call, to the only one. The key of the call.

        Raises:
            BadRequestError: no such call waits for that (any more), or several do; the text is empty.
        """
        if not text.strip():
            raise BadRequestError("the answer is empty; say what the model is to know")
        decision = Decision(verdict="answered", text=_checked(text))
        asking = _waiting(self._load(conversation_id), decision)
        if call is None and len(asking) > 1:
            keys = ", ".join(run.key for run in asking)
            raise BadRequestError(f"{conversation_id} waits for several answers ({keys}); name one with --call")
        (key,) = self._decide(conversation_id, call, decision)
        return key

    def _decide(self, conversation_id: str, call: str | None, decision: Decision) -> tuple[str, ...]:
        conversation = self._load(conversation_id)
        keys = [call] if call else [run.key for run in _waiting(conversation, decision)]
        became = {key: self._access.ledger.decide(conversation_id, key, decision) for key in keys}
        decided = tuple(key for key, what in became.items() if what == "decided")
        if not decided:
            what = next(iter(became.values()), "ended" if conversation.terminal else "not_asked")
            raise BadRequestError(_why_not(conversation, call, decision, what))
        return decided


def _waiting(conversation: Conversation, decision: Decision) -> list[ToolRun]:
    return [run for run in conversation.with_persons if run.asks == asked_for(decision)]


def _checked(text: str) -> str:
    if not is_text(text):
        raise BadRequestError("the text holds half a surrogate pair, which no JSON can carry; send text")
    if len(text) > MAX_CHARS:
        raise BadRequestError(f"the text has more than {MAX_CHARS} characters; say it shorter")
    return text


def _why_not(conversation: Conversation, call: str | None, decision: Decision, what: DecidedAs) -> str:
    name, kind = conversation.id, asked_for(decision)
    which = f"call {call} of {name}" if call else name
    match what:
        case "ended":
            return f"{name} has ended ({conversation.status}), or is about to: nothing waits for a person any more"
        case "decided_before":
            return f"{which} was decided before; see `skillfleet follow {name}`"
        case "other_kind":
            command = "approve` or `skillfleet deny" if kind == "answer" else "answer"
            return f"{which} waits for another word: `skillfleet {command}`"
    return f"{which} does not wait for an {kind}; {_told(conversation.with_persons)}"


def _told(waiting: Iterable[ToolRun]) -> str:
    told = ", ".join(f"{run.key} ({run.asks})" for run in waiting)
    return f"these do: {told}" if told else "no call of it waits for a person"
