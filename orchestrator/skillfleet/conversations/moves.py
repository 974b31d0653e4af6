"""What can happen to a conversation (events), and what the engine then wants done (effects)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillfleet_workers.wire.contract import Effects, Governing, ScriptTool, UsedSkill
from skillfleet_workers.wire.execution import Artifact
from skillfleet_workers.wire.published import Snapshot

from ..subagents.mailbox import AgentMessage, Delivered, Mail
from .limits import Divergence, Limits, Problem, Usage
from .messages import Message
from .models import ConversationSpec, Rule, Status
from .recorded import Asked
from .runs import Decision, ToolRun


@dataclass(frozen=True, slots=True)
class Submitted:
    """It begins. `snapshot`: the id of the Snapshot of that moment, which it keeps to; empty: not known."""

    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """`snapshot`: the skills that it was asked with; None: not known. `trimmed`: as in the Conversation, when it was
    asked. `rules`: what the fleet's operator wants to be asked about. `outputs`: what `read_output` brings, by the
    call's place in the turn. `divergences`: of a replay; `asked`: of a conversation that is recorded. `problem`: why
    the answer that it is has failed."""

    message: Message
    usage: Usage = field(default_factory=Usage)
    snapshot: Snapshot | None = None
    trimmed: int = 0
    rules: tuple[Rule, ...] = ()
    outputs: Mapping[int, str] = field(default_factory=dict)
    divergences: tuple[Divergence, ...] = ()
    asked: Asked | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class ModelFailed:
    problem: Problem


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """As the worker wrote it to the ledger. `tools`: the scripts of the skill that was read; `used`: the skill that
    it was about; `governing`: the one that it activated; `artifacts`: the files that it brought; `attempt`: the one
    that brought it, which need not be the last that was sent; 0: none."""

    key: str
    status: str
    shown: str
    worker: str = ""
    runtime: str = ""
    ms: float = 0.0
    tools: tuple[ScriptTool, ...] = ()
    used: UsedSkill | None = None
    governing: Governing | None = None
    artifacts: tuple[Artifact, ...] = ()
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ChildAwaited:
    """The call's child is not known to have begun. Of one that carries out a skill: `content`, the instructions;
    `tools`, its scripts."""

    key: str
    content: str = ""
    tools: tuple[ScriptTool, ...] = ()


@dataclass(frozen=True, slots=True)
class ChildBegun:
    """The ledger has the child that the call `key` began."""

    key: str


@dataclass(frozen=True, slots=True)
class ChildFinished:
    """The child that the call `key` began has ended (`ended`: its terminal status): what a call that waits for it
    has come to by that, the files that the child's calls brought, what the child has used, with its own children, and
    how many calls they made; `kept`: what is kept for those of them of which that is not known;
    `begun`: False of one that was told to end before it had begun."""

    key: str
    status: str
    shown: str
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    ended: str = ""
    kept: Limits | None = None
    begun: bool = True


@dataclass(frozen=True, slots=True)
class MailCame:
    """Messages that the call `key` waits for are there: those that it takes, in the order in which it is shown
    them."""

    key: str
    mail: tuple[Mail, ...]


@dataclass(frozen=True, slots=True)
class WaitOver:
    """The time is up for which the call waited for children, or for messages."""

    key: str


@dataclass(frozen=True, slots=True)
class Posted:
    """The ledger has said what became of what the call sends, or subscribes to."""

    key: str
    delivered: Delivered


@dataclass(frozen=True, slots=True)
class Unposted:
    """The ledger has not said what became of what the call sends, or subscribes to."""

    key: str


@dataclass(frozen=True, slots=True)
class BackoffOver:
    """The call's script failed a while ago, and is run again now."""

    key: str


@dataclass(frozen=True, slots=True)
class ToolUnstarted:
    """No worker has started the call, and it waits in no queue: its message is gone."""

    key: str


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """The call's script failed, for the `failures`th time, and its skill allows one more attempt."""

    key: str
    failures: int = 1


@dataclass(frozen=True, slots=True)
class ToolLost:
    """The worker that started the call has gone silent, or has lost its run. `effects`: what it had said of the call;
    `said`: how it was lost, empty: it went silent."""

    key: str
    effects: Effects | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class ToolHandedBack:
    """The worker that ran the call had to go, and has ended it. `effects`: as of a call that is lost."""

    key: str
    effects: Effects | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """A person has said what a call waited for."""

    key: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing new is started from here on; what runs may finish."""


@dataclass(frozen=True, slots=True)
class Resumed:
    pass


@dataclass(frozen=True, slots=True)
class CancelRequested:
    pass


@dataclass(frozen=True, slots=True)
class TimeShort:
    """What is left of its time is for the last turn."""


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    pass


Event = (
    Submitted
    | ModelReplied
    | ModelFailed
    | ToolFinished
    | ChildAwaited
    | ChildBegun
    | ChildFinished
    | MailCame
    | WaitOver
    | Posted
    | Unposted
    | BackoffOver
    | ToolUnstarted
    | ToolFailed
    | ToolLost
    | ToolHandedBack
    | Decided
    | Paused
    | Resumed
    | CancelRequested
    | TimeShort
    | DeadlinePassed
)


@dataclass(frozen=True, slots=True)
class CallModel:
    pass


@dataclass(frozen=True, slots=True)
class RunTool:
    run: ToolRun


@dataclass(frozen=True, slots=True)
class StartChild:
    """Where the child of this call has not begun yet: to begin it twice is harmless."""

    key: str
    spec: ConversationSpec


@dataclass(frozen=True, slots=True)
class Deliver:
    """What the call sends; the ledger tells it what became of it. To do it twice is harmless."""

    key: str
    message: AgentMessage


@dataclass(frozen=True, slots=True)
class Subscribe:
    """From here on the conversation is sent what is published under topics that fit the pattern; likewise."""

    key: str
    pattern: str


@dataclass(frozen=True, slots=True)
class TakeMail:
    """The call `key` was given these, which stand in the transcript now: they leave the mailbox with the commit."""

    key: str
    mail: tuple[Mail, ...]


@dataclass(frozen=True, slots=True)
class CancelTool:
    """The call's result is no longer wanted: its worker sees that the conversation has ended, and kills it. Its child
    is cancelled with the commit."""

    key: str


@dataclass(frozen=True, slots=True)
class Finish:
    status: Status


Effect = CallModel | RunTool | StartChild | Deliver | Subscribe | TakeMail | CancelTool | Finish
