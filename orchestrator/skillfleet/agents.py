"""Conversations as subagents: a part of the Fleet."""

from collections.abc import Callable, Iterator
from itertools import islice

from .conversations.models import Conversation
from .errors import BadRequestError, UnknownConversationError
from .opened import Opened
from .subagents.models import AgentState
from .subagents.transitions import refusal
from .subagents.view import Subagent, agent_state, children_of, is_subagent

PAGE = 200
MOST_LOOKED_AT = 10_000
"""Of all conversations so many, the newest, are looked through for subagents; a tree is walked whole."""


class Agents(Opened):
    def agents(
        self, limit: int = 20, state: AgentState | None = None, parent: str | None = None, root: str | None = None
    ) -> tuple[Subagent, ...]:
        """Those in this state, newest first. `parent`: that this conversation has begun; `root`: of its whole tree,
        without itself."""
        found = self._newest_agents()
        if parent or root:
            begun = self._begun_by(self._load(parent or root or ""), deep=not parent)
            in_tree = [one for one in begun if root in (None, one.root)]
            found = iter(sorted(in_tree, key=lambda one: (one.spec.created_at, one.id), reverse=True))
        fitting = islice((one for one in found if state in (None, agent_state(one))), limit)
        return tuple(Subagent.of(self._whole(one)) for one in fitting)

    def agent(self, agent_id: str) -> Subagent:
        """Any conversation, as a subagent."""
        return Subagent.of(self._load(agent_id))

    def pause_agent(self, agent_id: str) -> None:
        """From now on nothing of it is started, nor of its children.

        Raises:
            BadRequestError: it does not run.
        """
        self._move(agent_id, AgentState.PAUSED, self._access.ledger.pause)

    def resume_agent(self, agent_id: str) -> None:
        """What was paused goes on.

        Raises:
            BadRequestError: it runs, or has ended.
        """
        self._move(agent_id, AgentState.RUNNING, self._access.ledger.resume)

    def cancel_agent(self, agent_id: str) -> None:
        """It ends, and its children with it.

        Raises:
            BadRequestError: it has ended.
        """
        self._move(agent_id, AgentState.FAILED, self._access.ledger.cancel)

    def _move(self, agent_id: str, wanted: AgentState, ask: Callable[[str], bool]) -> None:
        if why := refusal(agent_state(self._load(agent_id)), wanted):
            raise BadRequestError(f"{agent_id} can't become {wanted}: {why}")
        try:
            asked = ask(agent_id)
        except KeyError:
            raise UnknownConversationError(agent_id) from None
        if not asked:
            raise BadRequestError(f"{agent_id} can't become {wanted}: it has ended meanwhile, or is about to")

    def _newest_agents(self) -> Iterator[Conversation]:
        """Without their messages."""
        seen = set[str]()
        for skip in range(0, MOST_LOOKED_AT, PAGE):
            page = self._access.ledger.newest(PAGE, skip)
            new = [one for one in page if one.id not in seen]  # others have come meanwhile, and moved the pages
            seen.update(one.id for one in new)
            yield from filter(is_subagent, new)
            if not page:
                return

    def _begun_by(self, conversation: Conversation, *, deep: bool) -> Iterator[Conversation]:
        for name in children_of(conversation):
            if child := self._access.ledger.load(name):
                yield child
                if deep:
                    yield from self._begun_by(child, deep=True)

    def _whole(self, conversation: Conversation) -> Conversation:
        return conversation if conversation.messages else self._access.ledger.load(conversation.id) or conversation
