"""A follower of a conversation that waits for a person: asks on the terminal, or says which command to type."""

import threading
from typing import Any, Literal

import redis

from ..conversations.persons import Asked
from ..errors import FleetError
from ..events import Entry
from ..fleet import Fleet
from .display import Watch, literal
from .exits import complain
from .terminal import Terminal

CLOSING_S = 1.0

Verdict = Literal["approved", "denied", "answered"]


def command(name: str, asked: Asked) -> str:
    """What to type for it."""
    if asked.kind == "answer":
        return f"`skillfleet answer {name} TEXT --call {asked.key}`"
    return f"`skillfleet approve {name} {asked.key}` (or `deny`)"


def told(name: str, asked: Asked) -> str:
    """One line for people."""
    about = f" asks {asked.question!r}" if asked.kind == "answer" else f" of {asked.skill}" if asked.skill else ""
    return f"{name} waits for a person: call {asked.key}, {asked.name}{about}: {command(name, asked)}"


class Asker:
    """`terminal` None: nobody can be asked here. A thread talks, so that the follower goes on, and stops asking what
    was decided elsewhere; it dies with us."""

    def __init__(self, fleet: Fleet, name: str, watch: Watch, terminal: Terminal | None) -> None:
        self._fleet, self._name, self._watch, self._terminal = fleet, name, watch, terminal
        self._open: dict[str, Asked] = {}
        """What is still to be asked, by the calls' keys."""
        self._said: set[str] = set()
        """What was decided here."""
        self._changed, self._over = threading.Condition(), False
        self._thread: threading.Thread | None = None

    def see(self, entry: Entry | None) -> None:
        if entry is None:
            return
        if entry.type == "asked":
            self._ask(Asked.model_validate(entry.data))
        elif entry.type == "decided":
            self._forget(entry.data)
        elif entry.type == "ended":
            self._end()

    def _ask(self, asked: Asked) -> None:
        if not self._still_waits(asked):
            return
        if self._terminal is None or not self._terminal.ours:
            complain(told(self._name, asked))
            return
        with self._changed:
            self._open[asked.key] = asked
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._talk, name="asking", daemon=True)
            self._thread.start()

    def _still_waits(self, asked: Asked) -> bool:
        """Who follows from the beginning sees what was asked long ago."""
        try:
            return asked.key in [one.key for one in self._fleet.status(self._name).waiting_for]
        except redis.RedisError:
            return True

    def _forget(self, data: dict[str, Any]) -> None:
        with self._changed:
            elsewhere = self._open.pop(data["key"], None) and data["key"] not in self._said
        if elsewhere:
            self._watch.note(f"call {data['key']} was {data['verdict']} elsewhere")

    def _end(self) -> None:
        with self._changed:
            self._open.clear()
            self._over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSING_S)

    def _talk(self) -> None:
        assert self._terminal is not None
        while asked := self._next():
            with self._watch.held():
                try:
                    heard = self._put(self._terminal, asked)
                except (FleetError, redis.RedisError) as wrong:
                    complain(str(wrong))
                    heard = False
            with self._changed:
                waits = self._open.pop(asked.key, None) is not None
            if waits and not heard:
                complain(told(self._name, asked))

    def _next(self) -> Asked | None:
        with self._changed:
            self._changed.wait_for(lambda: self._open or self._over)
            return next(iter(self._open.values()), None)

    def _put(self, terminal: Terminal, asked: Asked) -> bool:
        """False: nobody is there who could say it."""

        def line(prompt: str) -> str | None:
            return terminal.line(prompt, lambda: asked.key in self._open)

        self._show(asked)
        if asked.kind == "answer":
            while (text := line("Answer: ")) is not None and not text.strip():
                pass
            return text is not None and self._say(asked, "answered", text)
        while (word := line("Approve? [y/n] ")) is not None:
            if word.strip().lower() in ("y", "yes"):
                return self._say(asked, "approved", "")
            if word.strip().lower() in ("n", "no"):
                reason = line("Reason (may be left out): ")
                return reason is not None and self._say(asked, "denied", reason.strip())
        return False

    def _say(self, asked: Asked, verdict: Verdict, text: str) -> bool:
        self._said.add(asked.key)
        match verdict:
            case "approved":
                self._fleet.approve(self._name, asked.key)
            case "denied":
                self._fleet.deny(self._name, asked.key, reason=text)
            case "answered":
                self._fleet.answer(self._name, text, asked.key)
        return True

    def _show(self, asked: Asked) -> None:
        console = self._watch.console
        if asked.kind == "answer":
            console.print(f"[bold yellow]? call {asked.key}[/] {literal(asked.question)}", soft_wrap=True)
            return
        about = f" of the skill {literal(asked.skill)}" if asked.skill else ""
        console.print(f"[bold yellow]? call {asked.key}[/] {literal(asked.name)}{about}", soft_wrap=True)
        for name, value in asked.arguments.items():
            lines = literal(value if isinstance(value, str) else repr(value)).splitlines()
            one = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n      {line}" for line in lines)
            console.print(f"    {literal(name)}:{one}", soft_wrap=True)
