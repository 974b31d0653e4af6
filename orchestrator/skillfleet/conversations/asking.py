"""Asking a model for its next turn, with the skills that the conversation keeps to."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from skillfleet_workers.wire.published import Snapshot

from ..llm.base import Hear, LanguageModel, ModelReply, ModelRequest, deaf, no_files
from ..llm.divergence import digests
from ..llm.facts import KnownModels, ModelFacts, cost
from ..llm.failures import CONTEXT_EXCEEDED
from ..llm.prompts import with_catalog
from ..settings import DESCRIPTION_BUDGET
from ..tools.catalog import catalog_of
from ..tools.definitions import offered
from .budgets import output_left
from .limits import Problem, Usage
from .messages import ToolDefinition
from .models import Conversation, ConversationSpec, Rule
from .moves import DeadlinePassed, Event, ModelFailed, ModelReplied, TimeShort
from .outputs import Executions, States, no_executions, no_states, outputs_for
from .pictures import with_newest_images
from .plan_turns import Kept, no_kept, plan_turn
from .planning import answer_of, as_call, asked_to_plan, without_reply
from .recorded import Asked
from .trimming import MOST_TRIMS, as_shown, trimmed_for, trimmed_harder

MOST_TEXTS = 64
AT_ONCE_S = 0.1
"""So long before its time is over a model may give up."""

TIMED_OUT = "model_timeout"

NO_REPLY = ("model_malformed_reply", "model_refused")
"""The model was reached, and has said nothing that can be used."""

UNKNOWN_MODEL = ("model_not_found", "model_not_configured", "model_bad_request")

log = logging.getLogger(__name__)

Models = Callable[[ConversationSpec], LanguageModel | Problem]


class Catalogs(Protocol):
    """What skills there are. Raises redis.RedisError."""

    def current(self) -> Snapshot | None:
        """What live workers can run together; None: no worker is known."""
        ...

    def read(self, snapshot_id: str) -> Snapshot | None:
        """None: it was not used for too long."""
        ...


class Asking:
    """`catalogs` None: nobody tells of skills, and models find them by their tools alone. `budget`: most characters
    of the catalog that a model is shown. `known`: what models take and cost. `executions`: what `read_output` reads.
    `file`: as a ModelRequest has it. `rules`: what the fleet's operator wants to be asked about. `states`: what
    `list_subagents` reads; `kept`: what the calls of plans have brought. Safe to share between threads."""

    def __init__(
        self,
        models: Models,
        catalogs: Catalogs | None = None,
        clock: Callable[[], float] = time.monotonic,
        budget: int = DESCRIPTION_BUDGET,
        known: KnownModels | None = None,
        executions: Executions = no_executions,
        *,
        file: Callable[[str], bytes | None] = no_files,
        rules: tuple[Rule, ...] = (),
        states: States = no_states,
        kept: Kept = no_kept,
    ) -> None:
        self._rules, self._states, self._kept = rules, states, kept
        self._models, self._catalogs, self._clock, self._budget = models, catalogs, clock, budget
        self._known, self._executions, self._file = known or KnownModels.of(None), executions, file
        self._texts: dict[tuple[str, tuple[str, ...] | None], str] = {}

    def snapshot_for(self, conversation: Conversation) -> str | None:
        """The id of what it would begin with now; None: no worker is known, empty: nobody tells."""
        if self._catalogs is None or conversation.status != "queued":
            return ""
        if conversation.snapshot:  # a child's, which is its parent's
            return conversation.snapshot
        found = self._catalogs.current()
        return found.id if found else None

    def ask(self, conversation: Conversation, now: float, hear: Hear = deaf) -> Event:
        """Raises redis.RedisError."""
        if plan := conversation.spec.plan:
            turn = plan_turn(conversation, plan, self._snapshot(conversation), self._kept, now)
            return replace(turn, rules=self._rules)
        if conversation.spec.planning and (ended := answer_of(conversation)):
            return ModelReplied(ended[0], snapshot=self._snapshot(conversation), problem=ended[1])
        spec = conversation.spec.model_copy(update={"model": conversation.model})
        model = self._models(spec)
        if isinstance(model, Problem):
            return ModelFailed(_told_with_skill(model, conversation))
        facts = self._known.facts(spec.model)
        if problem := unpriced(spec, facts):
            return ModelFailed(_told_with_skill(problem, conversation))
        snapshot = self._snapshot(conversation)
        catalog, shown = self._catalog(conversation, snapshot), conversation
        if spec.planning:
            catalog, shown = "", asked_to_plan(conversation, snapshot, self._budget)
        started = self._clock()
        left_s = conversation.closes_at - now
        shown, request, answer = self._fitting(model, shown, catalog, left_s, facts, hear)
        now += self._clock() - started
        if now >= conversation.deadline:
            return DeadlinePassed()
        if isinstance(answer, ModelReply):
            usage = _priced(answer.usage, facts)
            said = as_call(conversation, answer.message) if spec.planning else answer.message
            return ModelReplied(
                said,
                usage,
                snapshot,
                trimmed=shown.trimmed,
                outputs=outputs_for(said, shown, self._executions, self._states),
                rules=self._rules,
                divergences=answer.divergences,
                asked=_asked(conversation, request, usage) if spec.record else None,
                problem=answer.problem,
            )
        early_s = AT_ONCE_S if answer.code == TIMED_OUT else 0.0
        if now >= conversation.closes_at - early_s:
            return DeadlinePassed() if conversation.closes_at == conversation.deadline else TimeShort()
        if spec.planning and answer.code in NO_REPLY:
            return ModelReplied(without_reply(conversation), snapshot=snapshot, rules=self._rules)
        return ModelFailed(_told_with_skill(answer, conversation))

    def _fitting(
        self,
        model: LanguageModel,
        conversation: Conversation,
        catalog: str,
        left_s: float,
        facts: ModelFacts,
        hear: Hear,
    ) -> tuple[Conversation, ModelRequest, ModelReply | Problem]:
        """The conversation with as much of it trimmed as its model took, what the model was asked so, and what it
        said."""
        give_up = self._clock() + left_s
        tools = offered(conversation, activates=bool(catalog))
        place: int | None = trimmed_for(conversation, tools, catalog, facts.room)
        times = 0
        while True:
            shown = conversation.model_copy(update={"trimmed": place})
            # Once more is trimmed, there may be use for read_output.
            shown_tools = tools if place == conversation.trimmed else offered(shown, activates=bool(catalog))
            request = self._request(shown, shown_tools, catalog, give_up - self._clock(), facts)
            answer = model.reply(request, hear)
            if not (isinstance(answer, Problem) and answer.code == CONTEXT_EXCEEDED) or times == MOST_TRIMS:
                return shown, request, answer
            times += 1
            place = trimmed_harder(conversation, tools, catalog, facts.room, times, shown.trimmed)
            if place is None:
                return shown, request, answer

    def _request(
        self,
        conversation: Conversation,
        tools: tuple[ToolDefinition, ...],
        catalog: str,
        left_s: float,
        facts: ModelFacts,
    ) -> ModelRequest:
        schema = conversation.spec.answer_schema
        output = output_left(conversation)
        return ModelRequest(
            messages=with_catalog(with_newest_images(as_shown(conversation)), catalog, schema),
            tools=tools,
            timeout_s=max(0.001, left_s),
            may_call=conversation.closing is None,
            max_output_tokens=output if output is not None and output < facts.max_output else None,
            schema=schema,
            file=self._file,
        )

    def _snapshot(self, conversation: Conversation) -> Snapshot | None:
        """That which it keeps to; where it has none, or that is gone, what there is now."""
        if self._catalogs is None:
            return None
        kept = self._catalogs.read(conversation.snapshot) if conversation.snapshot else None
        return kept or self._catalogs.current()

    def _catalog(self, conversation: Conversation, snapshot: Snapshot | None) -> str:
        if snapshot is None:
            return ""
        key = snapshot.id, conversation.spec.skills
        text = self._texts.get(key)
        if text is None:
            found = catalog_of(snapshot, conversation.spec.skills, self._budget)
            if found.omitted:
                log.warning("%d skills have no room in the prompt; raise the description budget", found.omitted)
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            text = self._texts[key] = found.text
        return text


def _asked(conversation: Conversation, request: ModelRequest, usage: Usage) -> Asked:
    first, *_ = request.messages
    return Asked(
        turn=conversation.turn + 1,
        model=conversation.model,
        system=first.content if first.role == "system" else None,
        tools=digests(request.tools),
        messages=len(request.messages),
        usage=usage,
    )


def unpriced(spec: ConversationSpec, facts: ModelFacts) -> Problem | None:
    """Why what it costs cannot be held against its limit."""
    if spec.limits.max_cost is None or spec.script is not None or not spec.has_model or facts.prices is not None:
        return None
    name = spec.model or "the default model"
    return Problem(
        code="model_without_prices",
        message=f"The prices of {name} are not known, and so --max-cost cannot be kept.",
        fix="Write them into a file and name it in SKILLFLEET_MODELS_FILE (docs/models.md), or leave out --max-cost.",
    )


def _priced(usage: Usage, facts: ModelFacts) -> Usage:
    return usage if usage.cost else usage.model_copy(update={"cost": cost(facts, usage)})


def _told_with_skill(problem: Problem, conversation: Conversation) -> Problem:
    """Where it was not the conversation's own model, whose wish it was."""
    governing, model = conversation.governing, conversation.model
    if governing is None or model == conversation.spec.model:
        return problem
    told = {"message": f"The skill {governing.skill} asks for the model {model}: {problem.message}"}
    if problem.code in UNKNOWN_MODEL:
        told["fix"] = f"Name a model that the provider knows in the skill's `model`, or leave it out. {problem.fix}"
    return problem.model_copy(update=told)
