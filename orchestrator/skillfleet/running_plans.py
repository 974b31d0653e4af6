"""Executing plans: a part of the Fleet."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from skillfleet_workers.wire.contract import RUN_SCRIPT
from skillfleet_workers.wire.kept import KeptRuns
from skillfleet_workers.wire.published import Snapshot

from .catalogs import Catalogs
from .conversations.limits import DEFAULT_TIMEOUT_SECONDS
from .conversations.messages import Message
from .conversations.models import Conversation, ConversationSpec, Status
from .conversations.plan_turns import result_of
from .errors import BadRequestError
from .handed import read_handed
from .handing_in import hand_in
from .opened import Opened
from .plans.checking import Wrong, read_plan, told
from .plans.eligible import unrunnable
from .plans.gantt import Chart, chart_of
from .plans.models import MAX_TIMEOUT_S, PLAN_TIMEOUT_S, TOOL_TIMEOUT_S, ExecutionResult, PlanJson, PlanSpec
from .subagents.models import AgentSpec
from .submission import Submission, only_options
from .submitting import Options
from .tools.definitions import definition
from .tools.own import EXECUTE_PLAN

GivenPlan = PlanJson | Mapping[str, Any] | str | Path
"""A plan, what its JSON comes to, its JSON, or the file that holds it."""


class PlanOptions(TypedDict, total=False):
    """`timeout`: of the plan, seconds from when it begins (60); `tool_timeout`: of each run of a tool (30). `skills`:
    the only ones that it may use. `rules`, `person_timeout`, `tenant`, `priority`, `idempotency_key`: as `submit` has
    them."""

    timeout: float | None
    tool_timeout: int | None
    skills: Sequence[str] | None
    rules: Sequence[str]
    person_timeout: float | None
    tenant: str | None
    priority: int | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan at one moment. `attempt`: which one for its prompt, from 1; `status`: of its conversation."""

    attempt: int
    status: Status
    result: ExecutionResult
    chart: Chart


class RunningPlans(Opened):
    def submit_plan(self, plan: GivenPlan, *, detach: bool = False, **options: Unpack[PlanOptions]) -> str:
        """Queue the execution of a plan; the id of its conversation. The plan is checked first, against the skills of
        the fleet, too. `detach`: only on a fleet that runs already.

        Raises:
            BadRequestError: the plan does not fit (each place is told), or an option is out of range.
            NoFleetError: no fleet is running, and none may be started; or no worker tells of its skills.
        """
        only_options(options, PlanOptions)
        read = read_given(plan)
        if isinstance(read, tuple):
            raise BadRequestError(f"the plan does not fit: {told(read)}")
        given: dict[str, Any] = {**options, "prompt": f"Execute the plan {read.request_id}."}
        times = given.pop("timeout", None), given.pop("tool_timeout", None)
        given["skills"], given["rules"] = tuple(options.get("skills") or ()) or None, tuple(options.get("rules", ()))
        planned = plan_spec(read, *times)
        asked = Submission.of(given).spec()
        snapshot = self._access.skills(detach=detach)
        if wrong := tuple(unrunnable(read, snapshot, asked.skills)):
            raise BadRequestError(f"the plan does not fit: {told(wrong)}")
        spec = _executing(asked, planned, snapshot)
        return self._access.serving(spec, detach=detach).submit(spec)[0].id

    def submit_planning(self, prompt: str, *, detach: bool = False, **options: Unpack[Options]) -> str:
        """Queue a prompt for which the model writes a plan out of the fleet's skills, which is executed; where it
        fails another one, without the skills that have failed; the id of the conversation. `options`: as `submit` has
        them.

        Raises: as `submit`.
        """
        given: dict[str, Any] = {"prompt": prompt, **options, "planning": True}
        given["skills"], given["rules"] = tuple(options.get("skills") or ()) or None, tuple(options.get("rules", ()))
        asked = Submission.of(read_handed(given))
        spec = asked.spec()
        serving = self._access.serving(spec, detach=detach)
        hand_in(self.settings, asked.handed)
        return serving.submit(spec)[0].id

    def plan_attempts(self, conversation_id: str) -> tuple[str, ...]:
        """The ids of the conversations that execute plans for this one, the oldest first; of one that executes a plan
        its own. Those that are about to begin are not among them, nor those that were pruned."""
        conversation = self._load(conversation_id)
        if conversation.spec.plan is not None:
            return (conversation_id,)
        begun = [run.child for run in conversation.runs if run.child and run.name == EXECUTE_PLAN.tool]
        kept = self._access.ledger.states(begun)
        return tuple(one for one in begun if one in kept)

    def plan_result(self, conversation_id: str) -> ExecutionResult:
        """What the plan has come to by now, with all that its tools have brought.

        Raises:
            BadRequestError: the conversation executes no plan.
        """
        return self._result(*self._planned(conversation_id))

    def plan_chart(self, conversation_id: str) -> Chart:
        """When each tool of the plan ran. Raises: as `plan_result`."""
        return self.plan_view(conversation_id).chart

    def plan_view(self, conversation_id: str) -> PlanView:
        """Its result and its chart, as of one moment. Raises: as `plan_result`."""
        conversation, plan = self._planned(conversation_id)
        result = self._result(conversation, plan)
        now = conversation.finished_at or time.time()
        began = conversation.started_at or now
        chart = chart_of(plan, result, self._all_entries(conversation_id), began, now)
        return PlanView(plan.plan.metadata.generation_attempt, conversation.status, result, chart)

    def _result(self, conversation: Conversation, plan: PlanSpec) -> ExecutionResult:
        client, ttl_s = self._access.ledger.client, self.settings.result_ttl_hours * 3600
        snapshot = Catalogs(client, ttl_s, list).read(conversation.snapshot)
        return result_of(conversation, plan, snapshot, KeptRuns(client).read, time.time())

    def _planned(self, conversation_id: str) -> tuple[Conversation, PlanSpec]:
        conversation = self._load(conversation_id)
        if conversation.spec.plan is None:
            raise BadRequestError(f"{conversation_id} executes no plan")
        return conversation, conversation.spec.plan


def read_given(plan: GivenPlan) -> PlanJson | tuple[Wrong, ...]:
    """
    Raises:
        BadRequestError: the file cannot be read.
    """
    if isinstance(plan, PlanJson):
        return read_plan(plan.as_json())
    if not isinstance(plan, Path):
        return read_plan(plan)
    try:
        return read_plan(plan.read_bytes())
    except OSError as wrong:
        raise BadRequestError(f"{plan}: {wrong.strerror}") from None


def plan_spec(plan: PlanJson, timeout_s: float | None, tool_timeout_s: int | None) -> PlanSpec:
    """Raises: BadRequestError"""
    timeout_s = PLAN_TIMEOUT_S if timeout_s is None else timeout_s
    tool_timeout_s = TOOL_TIMEOUT_S if tool_timeout_s is None else tool_timeout_s
    if not isinstance(timeout_s, int | float) or not 0 < timeout_s <= MAX_TIMEOUT_S - DEFAULT_TIMEOUT_SECONDS:
        raise BadRequestError("--timeout: needs more than 0 seconds, and less than a week")
    if not isinstance(tool_timeout_s, int) or not 1 <= tool_timeout_s <= 3600:
        raise BadRequestError("--tool-timeout: needs 1 to 3600 seconds")
    return PlanSpec(plan=plan, tool_timeout_s=tool_timeout_s, timeout_s=timeout_s)


def _executing(asked: ConversationSpec, plan: PlanSpec, snapshot: Snapshot) -> ConversationSpec:
    """It may wait for its turn as long as any conversation."""
    limits = asked.limits.model_copy(update={"timeout_s": plan.timeout_s + DEFAULT_TIMEOUT_SECONDS})
    update = {
        "agent": AgentSpec(plan=plan),
        "snapshot": snapshot.id,
        "limits": limits,
        "tools": (definition(RUN_SCRIPT),),
        "opening": (Message(role="user", content=asked.opening[-1].content),),
        "model": "",
    }
    return asked.model_copy(update=update)
