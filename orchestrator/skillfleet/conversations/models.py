"""A conversation: what was asked (the spec, never changed), and where it stands."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from skillfleet_workers.wire.contract import (
    DEFAULT_PRIORITY,
    DEFAULT_TENANT,
    TASK_BY_TOOL,
    CallRef,
    Effects,
    Governing,
    TaskSpec,
    UsedSkill,
    skill_of,
)

from .messages import Message, ToolDefinition

Status = Literal["queued", "running", "waiting", "paused", "completed", "failed", "cancelled", "expired"]
TERMINAL: frozenset[str] = frozenset({"completed", "failed", "cancelled", "expired"})

NO_MODELS = frozenset({"", "inherit", "default", "sonnet", "opus", "haiku"})
"""What skills of Claude Code say for its own models of a kind, and no provider knows."""

DEFAULT_MAX_TURNS = 30
DEFAULT_TIMEOUT_SECONDS = 900.0


class ConversationModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Limits(ConversationModel):
    """`timeout_s`: wall time from acceptance to the last word, seconds."""

    max_turns: int = Field(default=DEFAULT_MAX_TURNS, ge=1, le=1000)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_SECONDS, gt=0, le=7 * 86400)


class ConversationSpec(ConversationModel):
    """What was asked. `model` is a provider's model name, or `scripted:NAME` with its replies in `script`;
    empty: the orchestrator's own default. `skills`: the only ones it may use.

    Of a conversation that goes on from another (`parent_id`), `opening` is what was said there, and `scripts` what
    the skills that were read there offer, `activated` those that were activated. `script_start`: how many assistant
    messages stand before the first reply of `script`. `parent_call`: the call (CallRef.call_id) of the parent that it
    works on, and whose result is its answer; `depth`: how many conversations stand above it so; `snapshot`: the
    skills that it keeps to, which are its parent's. Tenants share the fleet alike; `priority` counts among a tenant's
    own.
    """

    id: str
    parent_id: str | None = None
    model: str = ""
    script: dict[str, Any] | None = None
    script_start: int = 0
    opening: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    skills: tuple[str, ...] | None = None
    limits: Limits = Limits()
    scripts: tuple["OfferedScript", ...] = ()
    activated: tuple["ActivatedSkill", ...] = ()
    parent_call: str = ""
    depth: int = 0
    snapshot: str = ""
    tenant: str = DEFAULT_TENANT
    priority: int = DEFAULT_PRIORITY
    idempotency_key: str = ""
    created_at: float = 0.0


class Usage(ConversationModel):
    """Tokens, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Problem(ConversationModel):
    """Why a conversation did not answer: a stable code, a sentence, and what to do about it."""

    code: str
    message: str
    fix: str = ""


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
    `sends` is 0 where no worker was asked. `governing`: the skill that it activated, and `child` the id of the
    conversation that carries it out, where it forks.
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
    losses: int = 0
    effects: Effects | None = None
    said: str = ""
    child: str = ""
    governing: Governing | None = None

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

    def settled(self) -> Self:
        """Without what stands in the transcript, but for the payload of a call that was given up."""
        if self.dead:
            return self.model_copy(update={"shown": ""})
        named = {name: value for name, value in self.request.items() if name in ("skill_name", "name")}
        return self.model_copy(update={"shown": "", "said": "", "request": named, "governing": None})

    @property
    def skill(self) -> str | None:
        return skill_of(self.request)


class Conversation(ConversationModel):
    """Spec, position and history. Times are seconds since the epoch by the ledger's clock. `paused_s`: how long it
    has been paused altogether, as the ledger counts it; that time is not held against it. `dropped`: how many results
    came late or twice, likewise. `snapshot`: the id of the Snapshot of skills that it keeps to, empty: none yet;
    `activated`: the skills whose instructions stand in its transcript, in the order of their activations (whoever
    trims a transcript takes out of them what it no longer shows); `used`: those that its calls really used."""

    spec: ConversationSpec
    status: Status = "queued"
    turn: int = 0
    messages: tuple[Message, ...] = ()
    runs: tuple[ToolRun, ...] = ()
    scripts: tuple[OfferedScript, ...] = ()
    snapshot: str = ""
    activated: tuple[ActivatedSkill, ...] = ()
    used: tuple[UsedSkill, ...] = ()
    usage: Usage = Usage()
    answer: str | None = None
    error: Problem | None = None
    finished_at: float | None = None
    paused_s: float = 0.0
    dropped: int = 0

    @classmethod
    def begun(cls, spec: ConversationSpec) -> Self:
        return cls(
            spec=spec, messages=spec.opening, scripts=spec.scripts, activated=spec.activated, snapshot=spec.snapshot
        )

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def governing(self) -> Governing | None:
        """Until the calls of the turn are in, the skill that governed when the model made them."""
        last = self.activated[-1] if self.activated else None
        return last.governing if last and last.governs else None

    @property
    def model(self) -> str:
        """Whose reply is next: the wish of the skill that governs, else the conversation's own; empty: the
        orchestrator's default."""
        wish = self.governing.model if self.governing and self.spec.script is None else ""
        return self.spec.model if wish in NO_MODELS else wish

    @property
    def deadline(self) -> float:
        return self.spec.created_at + self.spec.limits.timeout_s + self.paused_s

    @property
    def dead(self) -> tuple[ToolRun, ...]:
        return tuple(run for run in self.runs if run.dead)

    @property
    def given_up(self) -> tuple[ToolRun, ...]:
        """This turn's calls that were ended without word from a worker, or from their child."""
        ended = (run for run in self.runs if run.ref.turn == self.turn and (run.child or not run.worker))
        return tuple(run for run in ended if run.status in ("lost", "cancelled"))

    @property
    def out(self) -> tuple[ToolRun, ...]:
        """The calls of this turn that have not come back."""
        return tuple(run for run in self.runs if run.status is None)

    @property
    def with_workers(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that a worker has, or is to have."""
        return tuple(run for run in self.out if not run.child)

    @property
    def with_children(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that a child conversation works on."""
        return tuple(run for run in self.out if run.child)
