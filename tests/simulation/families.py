"""What scripted conversations do with subagents and messages: they begin some, wait for them, end them, and write.

A script knows neither its own id nor those of its family: `{me}`, `{parent}` and `{root}` stand for them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from skillfleet.conversations.models import ConversationSpec
from skillfleet.tools.own import (
    AWAIT,
    CANCEL_SUBAGENT,
    LIST_SUBAGENTS,
    MESSAGING,
    PUBLISH,
    RECEIVE,
    SEND_MESSAGE,
    SPAWN,
    SPAWNING,
    SUBSCRIBE,
    OwnTool,
)
from skillfleet_workers.wire.uuids import uuid_of

GENERATIONS = ("scout", "digger", "porter")
"""What the subagents are called that a conversation begins, by how many stand above it."""

FAMILY_TOOLS = tuple(own.tool for own in (*SPAWNING, *MESSAGING))
TOPICS = ("navigation.complete", "navigation.failed", "news", "news.of.today")
PATTERNS = ("navigation.*", "news.*", "*", "news", "*.complete")
LONGEST_S = 20
"""That a call waits for somebody."""

Call = tuple[OwnTool, dict[str, Any]]


@dataclass(slots=True)
class Family:
    """Of the conversation whose script is being written: how many stand above it, and whom its calls have begun."""

    depth: int
    begun: list[str] = field(default_factory=list)

    def call(self, random: Random, turn: int, index: int) -> tuple[str, str]:
        """Its name, and its arguments. `turn`: counted from 0."""
        own, arguments = self._kind(random)(random, f"{turn}, {index}")
        if own is SPAWN:
            self.begun.append(f"{{me}}-{turn + 1}-{index}")
        return own.tool, json.dumps(arguments)

    def listen(self, random: Random) -> tuple[str, str]:
        """For whatever comes."""
        return RECEIVE.tool, json.dumps({"timeout": random.randint(1, LONGEST_S)})

    def _kind(self, random: Random) -> Callable[[Random, str], Call]:
        """Whoever has nobody to write to begins somebody."""
        if not (self.begun or self.depth) and random.random() < 0.7:
            return self._spawn
        return random.choice(
            [
                *(self._spawn, self._ask_after, self._publish, self._hear),
                *(self._send, self._send, self._send, self._receive, self._receive, self._receive),
            ]
        )

    def _spawn(self, random: Random, what: str) -> Call:
        """Deeper than it may go, too."""
        name = GENERATIONS[min(self.depth, len(GENERATIONS) - 1)]
        told: dict[str, Any] = {"prompt": f"Do {what}.", "name": name}
        if random.random() < 0.1:
            told = random.choice([{}, {"prompt": "Do.", "skill": "pdf"}, {"skill": "nowhere", "params": {}}])
        return SPAWN, told | ({"wait": False} if random.random() < 0.75 else {})

    def _ask_after(self, random: Random, what: str) -> Call:
        some_child = random.choice([*self.begun, *self.begun, *self.begun, "nobody"])
        timeout = {"timeout": random.randint(0, LONGEST_S)} if random.random() < 0.4 else {}
        choice = random.random()
        if choice < 0.2:
            return LIST_SUBAGENTS, {}
        if choice < 0.4:
            return CANCEL_SUBAGENT, {"agent_id": some_child}
        return AWAIT, timeout | ({"agent_ids": [some_child]} if random.random() < 0.4 else {})

    def _send(self, random: Random, what: str) -> Call:
        """To its parent or a child, sometimes to itself or beyond the family. Who asks and who answers agree on what
        the request is called."""
        above = ["parent", "parent", "{root}"] if self.depth else []
        likely = [*above, *self.begun, *self.begun]
        to = random.choice(likely if likely and random.random() < 0.9 else ["nobody", "{me}", "parent"])
        told: dict[str, Any] = {"recipient_id": to, "payload": {"about": what}, **_urgency(random)}
        kind = random.choice(["event", "event", "request", "response"])
        if kind == "request":
            told["correlation_id"] = f"{{me}} asks {to}" if random.random() < 0.8 else None
        elif kind == "response" and self.depth:
            told |= {"recipient_id": "parent", "correlation_id": "{parent} asks {me}"}
        return SEND_MESSAGE, {**told, "message_type": kind}

    def _publish(self, random: Random, what: str) -> Call:
        return PUBLISH, {"topic": random.choice(TOPICS), "payload": {"about": what}, **_urgency(random)}

    def _hear(self, random: Random, what: str) -> Call:
        return SUBSCRIBE, {"topic": random.choice(PATTERNS)}

    def _receive(self, random: Random, what: str) -> Call:
        told: dict[str, Any] = {"timeout": random.choice([0, LONGEST_S, random.randint(1, LONGEST_S)])}
        if random.random() < 0.6:
            told["limit"] = 1
        if random.random() < 0.2:
            told["topic"] = random.choice(PATTERNS)
        elif self.begun and random.random() < 0.2:
            told["correlation_id"] = f"{{me}} asks {self.begun[-1]}"
        return RECEIVE, told


def _urgency(random: Random) -> dict[str, int]:
    ttl = {"ttl": random.choice([1, LONGEST_S, 600, 600])}
    return ttl | ({"priority": random.randint(1, 10)} if random.random() < 0.3 else {})


def for_whom(spec: ConversationSpec, arguments: str) -> str:
    """The arguments as the conversation's own model says them."""
    known = {"{me}": spec.id, "{parent}": spec.parent_id or "nobody", "{root}": spec.root or spec.id}
    for name, value in known.items():
        arguments = arguments.replace(name, value)
    told = json.loads(arguments)
    if told.get("correlation_id"):
        told["correlation_id"] = uuid_of(told["correlation_id"])
    return json.dumps({name: value for name, value in told.items() if value is not None})
