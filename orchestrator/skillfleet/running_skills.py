"""Running skills without a model: a part of the Fleet."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from pydantic import JsonValue, ValidationError

from skillfleet_workers.wire.contract import RUN_SCRIPT, ToolError
from skillfleet_workers.wire.plain_json import written

from .conversations.messages import Message
from .conversations.models import ConversationSpec
from .errors import BadRequestError
from .history.asked_skill import asked_execution
from .history.reading import executions_of
from .history.records import SkillExecution
from .opened import Opened
from .subagents.chain import chained
from .subagents.models import AgentSpec
from .submission import Submission, only_options
from .tools.definitions import definition
from .tools.own import PUBLISH


class SkillOptions(TypedDict, total=False):
    """`timeout`: seconds of wall time, of all its steps together; a step's own is its skill's. `name`, `metadata`:
    the subagent's. `rules`, `person_timeout`, `tenant`, `priority`, `idempotency_key`: as `submit` has them."""

    timeout: float | None
    name: str
    metadata: Mapping[str, JsonValue] | None
    rules: Sequence[str]
    person_timeout: float | None
    tenant: str | None
    priority: int | None
    idempotency_key: str | None


class RunningSkills(Opened):
    def submit_skill(
        self,
        skill: str,
        params: Mapping[str, JsonValue] | None = None,
        *,
        detach: bool = False,
        **options: Unpack[SkillOptions],
    ) -> str:
        """Queue the run of a skill, with all that it depends on, without a model; the id of its conversation.

        `skill`: its name, or `name@1.2.0`. `params`: checked against its schema now. `detach`: only on a fleet that
        runs already.

        Raises:
            BadRequestError: there is no such skill, it cannot run by itself, its parameters do not fit, or an option
                is out of range.
            NoFleetError: no fleet is running, and none may be started; or no worker tells of its skills.
        """
        only_options(options, SkillOptions)
        given: dict[str, Any] = {**options, "prompt": _told(skill, params or {})}
        name, metadata = given.pop("name", ""), given.pop("metadata", None)
        given["rules"] = tuple(options.get("rules", ()))
        asked = Submission.of(given).spec()
        _written("metadata", metadata or {})
        agent = _agent(name=name, skill=skill, params=dict(params or {}), metadata=dict(metadata or {}))
        snapshot = self._access.skills(detach=detach)
        steps = chained(snapshot, skill, agent.params)
        if isinstance(steps, ToolError):
            raise BadRequestError(f"{steps.message.rstrip('.')}; {steps.fix[:1].lower()}{steps.fix[1:].rstrip('.')}")
        found = snapshot.find(skill)
        agent = agent.model_copy(update={"steps": steps, "version": found.version if found else ""})
        spec = _without_model(asked, agent, snapshot.id)
        return self._access.serving(spec, detach=detach).submit(spec)[0].id

    def skill_execution(self, conversation_id: str) -> SkillExecution:
        """What the run has come to by now.

        Raises:
            BadRequestError: it is not the run of a skill.
        """
        conversation = self._load(conversation_id)
        agent = conversation.spec.agent
        if agent is None or not agent.steps:
            raise BadRequestError(f"{conversation_id} has a model, and is not the run of a skill")
        return asked_execution(
            conversation, agent, executions_of(conversation.spec, self._all_entries(conversation_id))
        )


def _without_model(asked: ConversationSpec, agent: AgentSpec, snapshot: str) -> ConversationSpec:
    opening = (Message(role="user", content=_told(agent.skill, agent.params)),)
    tools = (definition(RUN_SCRIPT), definition(PUBLISH))
    update = {"agent": agent, "snapshot": snapshot, "opening": opening, "tools": tools, "model": ""}
    return asked.model_copy(update=update)


def _agent(**fields: Any) -> AgentSpec:
    """Raises: BadRequestError"""
    try:
        return AgentSpec(**fields)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the run"
        raise BadRequestError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None


def _told(skill: str, params: Mapping[str, JsonValue]) -> str:
    return f"Run the skill {skill} with {_written('--params', params)}."


def _written(option: str, values: Mapping[str, JsonValue]) -> str:
    """Raises: BadRequestError"""
    try:
        return written(dict(values)).decode()
    except ValueError as wrong:
        raise BadRequestError(f"{option} {wrong}") from None
