"""The tool calls of a conversation, and what the skills that it has read let it call."""

from itertools import islice
from typing import Any, Literal, Self

from pydantic import Field

from skillfleet_workers.wire.contract import (
    TASK_BY_TOOL,
    CallRef,
    Effects,
    Governing,
    TaskSpec,
    ToolError,
    skill_of,
)
from skillfleet_workers.wire.execution import Artifact
from skillfleet_workers.wire.files import StoredFile
from skillfleet_workers.wire.shown import shown_to_model

from ..subagents.mailbox import Listening
from .limits import ConversationModel, Usage

SHOWN_IMAGES = 8
"""Most images of one call that the model is shown; the others it is told of."""


class Decision(ConversationModel):
    """What a person said of a call that waits for one: whether it may be made, or, of a question, the answer."""

    verdict: Literal["approved", "denied", "answered"]
    text: str = ""


Asks = Literal["", "approval", "answer"]
"""What a call waits for a person for; empty: for nobody."""


class OfferedScript(ConversationModel):
    """A skill's script that the model may call by a `name` of its own; or, where no script is told, the contract's
    tool of that name, with what the skills that were read tell of it. `parameters`: the JSON Schema of the script's
    arguments, None: any object."""

    name: str
    skill_name: str = ""
    script: str = ""
    description: str = ""
    language: str = ""
    parameters: dict[str, Any] | None = None

    @property
    def given(self) -> dict[str, str]:
        """The arguments of `run_skill_script` that the name stands for."""
        return self.model_dump(include={"skill_name", "script"})


class ActivatedSkill(ConversationModel):
    """A skill whose instructions stand in the transcript. `turn`: when it was activated, 0: in the conversation that
    this one goes on from; once more for each time that it was activated again. The last one governs, until the answer
    (`governs`)."""

    governing: Governing
    turn: int = 0
    governs: bool = True


class ToolRun(ConversationModel):
    """One tool call of one turn. `name` is what the model called, `tool` (empty: the same) the contract's tool that
    it stands for. `status` is None while it is out; then a ScriptExecution's status, `succeeded` or
    `tool_error`. `losses`: how many of its attempts were lost, with their workers or under them, since its script
    last failed; `effects`: what the last worker had said of it, `said`: how it lost it, if it lived. `sent_at` is
    when the attempt was last sent, seconds since the epoch; `route`: which workers it was sent to, empty: all;
    `sends` is 0 where no worker was asked. `governing`: the skill that it activated. `child`: the id of the
    conversation that it began.
    `asks`: what it waits for a person for, before it is sent or instead of that, until that is known: then it is its
    `decision`.
    `own`: the orchestrator makes it, and no worker is asked; `begun`: it has done its part, and waits: for the
    children that the calls `awaits` (their keys) began, for messages (`listens`), until `until` at the latest (by a
    clock that stands while the conversation is paused, seconds since the epoch); or for the ledger's word.
    `artifacts`: the files that it brought. `refused`: the code of the ToolError that stands in its place where the
    engine would not make it. `retry_at`: its script has failed, and it is sent again then, by a clock that stands
    while the conversation is paused; until then no worker is to have it. `failures`: how often its script has failed,
    and was run again. `child_usage`, `child_calls`: where earlier
    releases kept what is in the conversation's `children` now.
    `shown`, `request` and `governing` are dropped once they stand in the transcript."""

    ref: CallRef
    tool_call_id: str
    name: str
    tool: str = ""
    request: dict[str, Any] = Field(default_factory=dict)
    status: str | None = None
    shown: str = ""
    worker: str = ""
    runtime: str = ""
    ms: float = 0.0
    sends: int = 0
    sent_at: float = 0.0
    route: str = ""
    retry_at: float | None = None
    failures: int = 0
    losses: int = 0
    effects: Effects | None = None
    said: str = ""
    child: str = ""
    governing: Governing | None = None
    asks: Asks = ""
    decision: Decision | None = None
    artifacts: tuple[Artifact, ...] = ()
    refused: str = ""
    child_usage: Usage = Usage()
    child_calls: int = 0
    own: bool = False
    begun: bool = False
    awaits: tuple[str, ...] = ()
    until: float | None = None
    listens: Listening | None = None

    @property
    def key(self) -> str:
        return self.ref.key

    @property
    def task(self) -> TaskSpec[Any]:
        """Of a call that was sent; one that was refused may have none."""
        return TASK_BY_TOOL[self.tool or self.name]

    @property
    def dead(self) -> bool:
        """It was given up because it was lost while it ran."""
        return self.status == "lost" and self.losses > 0 and not self.worker

    @property
    def again(self) -> bool:
        """It was sent before."""
        return self.sends > 1 or self.ref.attempt > 1

    @property
    def images(self) -> tuple[StoredFile, ...]:
        """Those of its files that the model is shown."""
        stored = (
            StoredFile(name=one.path, digest=one.digest, bytes=one.bytes, media_type=one.media_type)
            for one in self.artifacts
            if one.digest
        )
        return tuple(islice((one for one in stored if one.is_image), SHOWN_IMAGES))

    def refuse(self, error: ToolError) -> Self:
        """It is not made: the model is told why."""
        update = {"status": "tool_error", "shown": shown_to_model(error), "refused": error.error, "governing": None}
        return self.model_copy(update=update)

    def settled(self) -> Self:
        """Without what stands in the transcript, but for the payload of a call that was given up."""
        if self.dead:
            return self.model_copy(update={"shown": ""})
        names = ("skill",) if self.own else ("skill_name", "name")
        named = {name: value for name, value in self.request.items() if name in names}
        return self.model_copy(update={"shown": "", "said": "", "request": named, "governing": None})

    @property
    def skill(self) -> str | None:
        return self.request.get("skill") if self.own else skill_of(self.request)
