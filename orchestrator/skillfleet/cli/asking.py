"""A follower of a conversation that waits for a person: asks on the terminal, or says which command to type."""

import threading
from dataclasses import dataclass

import redis

from ..conversations.persons import Asked
from ..conversations.report import Report
from ..errors import FleetError
from ..events import Entry
from ..fleet import Fleet
from .display import Watch, literal
from .exits import complain
from .terminal import Terminal

CLOSING_S = 1.0

Place = tuple[str, str]
"""A conversation, and the key of a call of it."""


@dataclass(frozen=True, slots=True)
class Question:
    """`name`: of the conversation: the one that is followed, or one that works on a call of it."""

    name: str
    asked: Asked

    @property
    def command(self) -> str:
        if self.asked.kind == "answer":
            return f"`skillfleet answer {self.name} TEXT --call {self.asked.key}`"
        return f"`skillfleet approve {self.name} {self.asked.key}` (or `deny`)"

    @property
    def told(self) -> str:
        """One line for people."""
        asked = self.asked
        about = f" of {asked.skill}" if asked.skill else ""
        about += f", the plan's tool {asked.of_plan}" if asked.of_plan else ""
        about = f" asks {asked.question!r}" if asked.kind == "answer" else about
        return f"{self.name} waits for a person: call {asked.key}, {asked.name}{about}: {self.command}"


def questions(report: Report) -> list[Question]:
    return [Question(report.id, asked) for asked in report.waiting_for]


class Asker:
    """`terminal` None: nobody can be asked here. A thread talks, so that the follower goes on, and stops asking what
    was decided elsewhere; it dies with us."""

    def __init__(self, fleet: Fleet, name: str, watch: Watch, terminal: Terminal | None) -> None:
        self._fleet, self._name, self._watch, self._terminal = fleet, name, watch, terminal
        self._unsure: set[str] = set()
        """Conversations that are looked at while nothing comes: children, whose events we do not see."""
        self._known: set[Place] = set()
        """What people were told of."""
        self._open: dict[Place, Question] = {}
        self._changed, self._over = threading.Condition(), False
        self._thread: threading.Thread | None = None

    def see(self, entry: Entry | None) -> None:
        """None: a while of silence."""
        match entry.type if entry else None:
            case "asked":
                self._look([self._name])
            case "decided" if entry:
                self._forget([(self._name, entry.data["key"])])
            case "turn":  # the model goes on: nobody answered in time
                self._forget([place for place in self._open if place[0] == self._name])
            case "child" if entry and entry.data["status"] == "queued":
                self._unsure.add(entry.data["child"])
            case "child" if entry:
                self._unsure.discard(entry.data["child"])
            case "ended":
                self._end()
            case None if self._unsure:
                self._look(sorted(self._unsure))

    def _look(self, names: list[str]) -> None:
        """At these conversations, and at those that work on their calls: at what they wait for now, since who follows
        from the beginning sees what was asked long ago."""
        for name in names:
            try:
                report = self._fleet.status(name)
            except (FleetError, redis.RedisError):
                self._unsure.add(name)
                continue
            waiting = {(one.name, one.asked.key): one for one in questions(report)}
            self._forget([place for place in self._open if place[0] == name and place not in waiting])
            for place in waiting.keys() - self._known:
                self._ask(place, waiting[place])
            self._look([child.agent_id for child in report.subagents if child.status is None])

    def _forget(self, places: list[Place]) -> None:
        with self._changed:
            for place in places:
                self._open.pop(place, None)

    def _ask(self, place: Place, question: Question) -> None:
        self._known.add(place)
        if self._terminal is None or not self._terminal.ours:
            complain(question.told)
            return
        with self._changed:
            self._open[place] = question
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._talk, name="asking", daemon=True)
            self._thread.start()

    def _end(self) -> None:
        with self._changed:
            self._open.clear()
            self._over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSING_S)

    def _talk(self) -> None:
        assert self._terminal is not None
        while question := self._next():
            place = question.name, question.asked.key
            with self._watch.held():
                try:
                    heard = self._put(self._terminal, question)
                except (FleetError, redis.RedisError) as wrong:
                    complain(str(wrong))
                    heard = False
            with self._changed:
                waits = self._open.pop(place, None) is not None
            if waits and not heard:
                complain(question.told)

    def _next(self) -> Question | None:
        with self._changed:
            self._changed.wait_for(lambda: self._open or self._over)
            return next(iter(self._open.values()), None)

    def _put(self, terminal: Terminal, question: Question) -> bool:
        """False: nobody is there who could say it, or it was said elsewhere."""
        name, asked = question.name, question.asked

        def line(prompt: str) -> str | None:
            return terminal.line(prompt, lambda: (name, asked.key) in self._open)

        self._show(asked)
        if asked.kind == "answer":
            while (text := line("Answer: ")) is not None and not text.strip():
                pass
            return text is not None and bool(self._fleet.answer(name, text, asked.key))
        while (word := line("Approve? [y/n] ")) is not None:
            if word.strip().lower() in ("y", "yes"):
                return bool(self._fleet.approve(name, asked.key))
            if word.strip().lower() in ("n", "no"):
                reason = line("Reason (may be left out): ")
                return reason is not None and bool(self._fleet.deny(name, asked.key, reason=reason.strip()))
        return False

    def _show(self, asked: Asked) -> None:
        console = self._watch.console
        head = literal(asked.question) if asked.kind == "answer" else literal(asked.name)
        about = f" of the skill {literal(asked.skill)}" if asked.skill else ""
        about += f", the plan's tool {literal(asked.of_plan)}" if asked.of_plan else ""
        console.print(f"[bold yellow]? call {asked.key}[/] {head}{about}", soft_wrap=True)
        for name, value in asked.arguments.items():
            lines = literal(value if isinstance(value, str) else repr(value)).splitlines() or [""]
            shown = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n      {line}" for line in lines)
            console.print(f"    {literal(name)}:{shown}", soft_wrap=True)
