"""Conversations of one tree that send each other messages, their models scripted."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.system.fleet import Place
from tests.system.replies import Turn, replies

from skillfleet.app import make_ledger
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.llm.prompts import opening
from skillfleet.submission import new_id
from skillfleet.tools.definitions import all_definitions, definition
from skillfleet.tools.own import MESSAGING, SPAWNING

TOOLS = (*all_definitions(), *map(definition, (*SPAWNING, *MESSAGING)))


class Tree:
    """What its conversations are called is known before any of them begins, so that their scripts can name it."""

    def __init__(self, place: Place, members: int = 2, children: Mapping[str, Sequence[Turn]] | None = None) -> None:
        """`children`: what the subagents say that they begin, by their names."""
        self._place = place
        self._children = {name: replies(turns)["replies"] for name, turns in (children or {}).items()}
        self.ids = [new_id() for _ in range(members)]

    @property
    def root(self) -> str:
        return self.ids[0]

    def begin(self, *scripts: Sequence[Turn]) -> None:
        specs = [self._spec(name, turns) for name, turns in zip(self.ids, scripts, strict=True)]
        ledger = make_ledger(self._place.settings)
        with ledger.client:
            ledger.submit(*specs)

    def _spec(self, name: str, turns: Sequence[Turn]) -> ConversationSpec:
        return ConversationSpec(
            id=name,
            root="" if name == self.root else self.root,
            model="scripted:here",
            script=replies(turns) | {"children": self._children},
            opening=opening("Talk."),
            tools=TOOLS,
            subagents=True,
        )

    def answers(self) -> list[str]:
        """Of all, once they have ended."""
        with self._place.fleet() as fleet:
            reports = [fleet.result(name) for name in self.ids]
        assert [one.status for one in reports] == ["completed"] * len(reports), [one.error for one in reports]
        return [one.answer or "" for one in reports]

    def shown(self, member: int) -> list[Any]:
        """What its calls have brought."""
        with self._place.fleet() as fleet:
            return [_read(text) for text in tool_texts(fleet.transcript(self.ids[member]))]

    def handed(self) -> list[str]:
        """The ids of all messages that were handed out, to whomever."""
        with self._place.fleet() as fleet:
            entries = [entry for name in self.ids for entry in fleet.follow(name, live=False) if entry]
        return [one for entry in entries if entry.type == "handed" for one in entry.data["message_ids"]]


def tool_texts(conversation: Conversation) -> list[str]:
    return [message.content or "" for message in conversation.messages if message.role == "tool"]


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
