"""Asking a model for its next turn, with the skills that the conversation keeps to."""

import logging
from collections.abc import Callable
from typing import Protocol

from skillfleet_workers.wire.published import Snapshot

from ..llm.base import Hear, LanguageModel, ModelRequest, deaf
from ..llm.prompts import with_catalog
from ..settings import DESCRIPTION_BUDGET
from ..tools.catalog import catalog_of
from ..tools.definitions import offered
from .limits import Problem
from .models import Conversation, ConversationSpec, Rule
from .moves import DeadlinePassed, Event, ModelFailed, ModelReplied

MOST_TEXTS = 64
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
    of the catalog that a model is shown. `rules`: what the fleet's operator wants to be asked about. Safe to share
    between threads."""

    def __init__(
        self,
        models: Models,
        catalogs: Catalogs | None,
        clock: Callable[[], float],
        budget: int = DESCRIPTION_BUDGET,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        self._rules = rules
        self._models, self._catalogs, self._clock, self._budget = models, catalogs, clock, budget
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
        spec = conversation.spec.model_copy(update={"model": conversation.model})
        model = self._models(spec)
        if isinstance(model, Problem):
            return ModelFailed(_told_with_skill(model, conversation))
        snapshot = self._snapshot(conversation)
        left = conversation.deadline - now
        started = self._clock()
        answer = model.reply(self._request(conversation, self._catalog(conversation, snapshot), left), hear)
        if self._clock() - started >= left:
            return DeadlinePassed()
        if isinstance(answer, Problem):
            return ModelFailed(_told_with_skill(answer, conversation))
        return ModelReplied(answer.message, answer.usage, snapshot, rules=self._rules, divergences=answer.divergences)

    def _request(self, conversation: Conversation, catalog: str, left_s: float) -> ModelRequest:
        return ModelRequest(
            messages=with_catalog(conversation.messages, catalog),
            tools=offered(conversation, activates=bool(catalog)),
            timeout_s=max(0.001, left_s),
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


def _told_with_skill(problem: Problem, conversation: Conversation) -> Problem:
    """Where it was not the conversation's own model, whose wish it was."""
    governing, model = conversation.governing, conversation.model
    if governing is None or model == conversation.spec.model:
        return problem
    told = {"message": f"The skill {governing.skill} asks for the model {model}: {problem.message}"}
    if problem.code in UNKNOWN_MODEL:
        told["fix"] = f"Name a model that the provider knows in the skill's `model`, or leave it out. {problem.fix}"
    return problem.model_copy(update=told)
