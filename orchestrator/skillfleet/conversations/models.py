"""A conversation: what was asked (the spec, never changed), and where it stands."""

from typing import Any, Literal, Self

from pydantic import JsonValue

from skillfleet_workers.wire.contract import DEFAULT_PRIORITY, DEFAULT_TENANT, Governing, UsedSkill
from skillfleet_workers.wire.files import StoredFile

from ..plans.models import PlanSpec
from ..subagents.models import AgentSpec, ChainStep, ChildRun
from .limits import ConversationModel, Divergence, Limits, Problem, Usage
from .messages import Message, ToolDefinition
from .recorded import Asked
from .runs import ActivatedSkill, OfferedScript, ToolRun

Status = Literal["queued", "running", "waiting", "paused", "completed", "failed", "cancelled", "expired"]
TERMINAL: frozenset[str] = frozenset({"completed", "failed", "cancelled", "expired"})

NO_MODELS = frozenset({"", "inherit", "default", "sonnet", "opus", "haiku"})
"""What skills of Claude Code say for its own models of a kind, and no provider knows."""


class Rule(ConversationModel):
    """What is to be done with calls of the tools whose name the glob `tool` fits, about skills that `skill` fits.
    The last rule that fits a call decides."""

    verdict: Literal["allow", "ask", "deny"]
    tool: str = "*"
    skill: str = "*"


class ConversationSpec(ConversationModel):
    """What was asked. `model` is a provider's model name, or `scripted:NAME` with its replies in `script`;
    empty: the orchestrator's own default. `skills`: the only ones it may use.

    Of a conversation that goes on from another (`parent_id`), `opening` is what was said there, and `scripts` what
    the skills that were read there offer, `activated` those that were activated. `script_start`: how many assistant
    messages stand before the first reply of `script`. `parent_call`: the call (CallRef.call_id) of the parent that it
    works on, and whose result is its answer; `depth`: how many conversations stand above it so; `snapshot`: the
    skills that it keeps to, which are its parent's. Tenants share the fleet alike; `priority` counts among a tenant's
    own.

    `files`: what was handed in with it, for its scripts. `rules`: what the submitter wants to be asked about, in
    order. `answer_schema`: the JSON Schema that the answer has to fit. `model` `replay:NAME`: the replies of a
    recorded conversation, which is in `script`. `record`: what its model is asked is told in its events.

    `root`: the conversation at the top of its tree, empty: itself; messages go between those of one tree. `agent`: of
    a subagent. `subagents`: it may begin some, and send messages. `planning`: its model writes plans, which are
    executed, until one succeeds.
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
    scripts: tuple[OfferedScript, ...] = ()
    activated: tuple[ActivatedSkill, ...] = ()
    parent_call: str = ""
    depth: int = 0
    snapshot: str = ""
    files: tuple[StoredFile, ...] = ()
    rules: tuple[Rule, ...] = ()
    answer_schema: dict[str, Any] | None = None
    record: bool = False
    root: str = ""
    agent: AgentSpec | None = None
    subagents: bool = False
    planning: bool = False
    tenant: str = DEFAULT_TENANT
    priority: int = DEFAULT_PRIORITY
    idempotency_key: str = ""
    created_at: float = 0.0

    @property
    def steps(self) -> tuple[ChainStep, ...]:
        """What it runs without a model; none: it has one."""
        return self.agent.steps if self.agent else ()

    @property
    def plan(self) -> PlanSpec | None:
        """What it executes in place of a model."""
        return self.agent.plan if self.agent else None

    @property
    def has_model(self) -> bool:
        return not self.steps and self.plan is None


class Conversation(ConversationModel):
    """Spec, position and history. Times are seconds since the epoch by the ledger's clock. `paused_s`: how long it
    has been paused altogether, as the ledger counts it; that time is not held against it. `dropped`: how many results
    came late or twice, likewise. `snapshot`: the id of the Snapshot of skills that it keeps to, empty: none yet;
    `activated`: the skills whose instructions stand in its transcript, in the order of their activations (whoever
    trims a transcript takes out of them what it no longer shows); `used`: those that its calls really used.

    `closing`: the limit that was reached: the model has a last turn to sum up, and then it ends as `expired`.
    `trimmed`: the tool messages before this place of the transcript are shown to the model as pointers;
    `asked_tokens`: of the last request, as the provider counted them, 0: it did not.
    `corrections`: how often the model was told that its answer does not fit the schema; `data`: the answer that does.
    `waited_s`: how long it has waited for a person, which is not held against it; `waiting_since`: since when it
    does, by a clock that stands while it is paused. `divergences`: of a replay; `asked`: of one that is recorded,
    what its model was asked last. `children`: the conversations that its calls began, in their order. `started_at`:
    when it began, None: not yet; `paused_before_s`: how long it had been paused until then. `ending`: its terminal
    status, as soon as its children have ended: they are told to, and nothing else happens to it any more."""

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
    closing: Problem | None = None
    trimmed: int = 0
    asked_tokens: int = 0
    corrections: int = 0
    data: JsonValue = None
    waited_s: float = 0.0
    waiting_since: float | None = None
    divergences: tuple[Divergence, ...] = ()
    asked: Asked | None = None
    children: tuple[ChildRun, ...] = ()
    started_at: float | None = None
    paused_before_s: float = 0.0
    ending: Status | None = None
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
    def root(self) -> str:
        return self.spec.root or self.id

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
        """Its own; while it waits for a person, theirs."""
        if self.waiting_since is not None:
            return self.waiting_since + self.spec.limits.wait_s + self.paused_s
        return self.spec.created_at + self.spec.limits.timeout_s + self.waited_s + self.paused_s

    @property
    def closes_at(self) -> float:
        """From here on there is only time for a last turn, where it runs and has none yet."""
        if self.status != "running" or self.closing is not None:
            return self.deadline
        closes_at, plan = self.deadline - self.spec.limits.reserve_s, self.spec.plan
        if plan is None or self.started_at is None:
            return closes_at
        rested_s = self.waited_s + self.paused_s - self.paused_before_s
        return min(closes_at, self.started_at + plan.timeout_s + rested_s)

    def time_left(self, now: float) -> float:
        """Seconds of its own until there is only time for a last turn, as if no person were waited for any more."""
        rested = max(0.0, now - self.paused_s - self.waiting_since) if self.waiting_since is not None else 0.0
        limits = self.spec.limits
        own_s = limits.timeout_s - limits.reserve_s + self.waited_s + rested + self.paused_s
        return self.spec.created_at + own_s - now

    @property
    def dead(self) -> tuple[ToolRun, ...]:
        return tuple(run for run in self.runs if run.dead)

    @property
    def given_up(self) -> tuple[ToolRun, ...]:
        """This turn's calls that were ended without word from a worker, or from their child."""
        heard = {child.key for child in self.children if child.status}
        mine = (run for run in self.runs if run.ref.turn == self.turn and run.key not in heard)
        ended = (run for run in mine if run.child or not run.worker)
        return tuple(run for run in ended if run.status in ("lost", "cancelled"))

    @property
    def out(self) -> tuple[ToolRun, ...]:
        """The calls of this turn that have not come back."""
        return tuple(run for run in self.runs if run.status is None)

    @property
    def with_workers(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that a worker has, or is to have."""
        return tuple(run for run in self.out if run.sends and not run.awaits)

    @property
    def unsent(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that wait until others have come back."""
        return tuple(run for run in self.out if not (run.sends or run.asks or run.own or run.retry_at is not None))

    @property
    def backing_off(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that have failed, and are sent again in a while."""
        return tuple(run for run in self.out if run.retry_at is not None)

    @property
    def with_children(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that wait for child conversations."""
        return tuple(run for run in self.out if run.awaits)

    @property
    def open_children(self) -> tuple[ChildRun, ...]:
        """Those that are to be heard of, whether a call waits for them or not."""
        return tuple(child for child in self.children if child.open)

    @property
    def leaving(self) -> tuple[ChildRun, ...]:
        """Those that were told to end, and have not."""
        return tuple(child for child in self.children if child.leaving)

    @property
    def awaited(self) -> frozenset[str]:
        """The keys of the children that calls wait for."""
        return frozenset(key for run in self.out for key in run.awaits)

    def child_of(self, key: str) -> ChildRun | None:
        """The child that this call began."""
        return next((child for child in self.children if child.key == key), None)

    @property
    def listening(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that wait for messages."""
        return tuple(run for run in self.out if run.listens)

    @property
    def posting(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that wait for the ledger's word."""
        return tuple(run for run in self.out if run.begun and not (run.listens or run.awaits))

    @property
    def with_persons(self) -> tuple[ToolRun, ...]:
        """Of those, the ones that wait for a person's word."""
        return tuple(run for run in self.out if run.asks)
