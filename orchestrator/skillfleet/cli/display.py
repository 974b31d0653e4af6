"""A conversation as people watch it, on stderr: turns, tool calls, the end of their output. Answers, on stdout."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape

from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import short

from ..conversations.limits import Divergence, Usage
from ..conversations.report import Report
from ..events import Entry
from .agent_names import AgentNames
from .mail_lines import mail_line
from .saying import Saying, last_lines, tail

MARKS = {"succeeded": "[green]✓[/]", "tool_error": "[yellow]✗[/]", "lost": "[red]✗[/]"}
TAIL_LINES = 6
REPLY_LINES = 12
"""Most lines of a reply that builds up, the last; fewer on a low terminal."""

CALLS_SHOWN = 4
LINE_CHARS = 200
WRITTEN_CHARS = 4096
DIVERGENCE_LINES = 10
LOG_EVERY_S = 10.0
"""Where nothing can be wiped away, a line of a script's output is shown so often at most."""


def literal(text: str) -> str:
    """Text of others inside rich's markup: neither markup nor a terminal's command."""
    return escape(printable(text))


def stdout_console() -> Console:
    return Console(highlight=False, soft_wrap=True, emoji=False)


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


class Watch:
    """Shows entries as they come; on a terminal a spinner tells what is being waited for, and how long."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False, emoji=False)
        self._spinner = self._console.status("starting")
        self._began = time.monotonic()
        self._doing = "waiting for the fleet"
        self._names: dict[str, str] = {}
        self._agents = AgentNames()
        self._written: dict[str, str] = {}
        """The end of what the scripts of running calls have written; the newest to write is the last."""
        self._logged_at = 0.0
        self._saying = Saying()
        self._over = False

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        self._spinner.stop()

    @property
    def console(self) -> Console:
        return self._console

    @contextmanager
    def held(self) -> Iterator[None]:
        """While somebody types: the spinner would write over it."""
        self._spinner.stop()
        try:
            yield
        finally:
            if self._console.is_terminal and not self._over:
                self._spinner.start()

    def note(self, text: str) -> None:
        self._console.print(f"[dim]{literal(text)}[/]")

    def see(self, entry: Entry | None) -> None:
        if entry is not None:
            self._agents.see(entry)
            shows = {
                "message": self._message, "turn": self._turn, "call": self._call, "progress": self._progress,
                "failed": self._failed, "lost": self._lost, "result": self._result, "paused": self._paused,
                "resumed": self._resumed, "child": self._child, "again": self._again,
                "token": self._writing, "arguments": self._writing,
                "asked": self._asked, "decided": self._decided,
            }  # fmt: skip
            if show := shows.get(entry.type):
                show(entry.data)
            if entry.type == "started":
                self._doing = f"{self._names.get(entry.data['key'], 'a call')} on {entry.data['worker']}"
                self._written.pop(entry.data["key"], None)
                self._logged_at = entry.at
            if entry.type == "output":
                self._output(entry.data, entry.at)
            if line := mail_line(entry):
                self._console.print(f"    [dim]· {literal(self._agents.in_words(line))}[/]", soft_wrap=True)
            if self._console.is_terminal:
                self._saying.see(entry)
        elapsed = time.monotonic() - self._began
        self._spinner.update(f"{literal(self._doing)} [dim]{elapsed:.0f} s[/]{self.below()}")

    def _output(self, data: dict[str, Any], at: float) -> None:
        key = data["key"]
        self._written[key] = text = (self._written.pop(key, "") + data["text"])[-WRITTEN_CHARS:]
        if at - self._logged_at >= LOG_EVERY_S and text.strip() and not self._console.is_terminal:
            self._logged_at = at
            last = literal(text.strip().splitlines()[-1][:LINE_CHARS])
            self._console.print(f"    [dim]· {data['key']}: {last}[/]", soft_wrap=True)

    def below(self) -> str:
        """What is there for a moment only: a reply as it builds up, or the end of what a script writes."""
        return self._being_said() or self._being_written()

    def _being_said(self) -> str:
        most = max(1, min(REPLY_LINES, self._console.height - CALLS_SHOWN - 2))
        shown = [f"\n  {literal(line)}" for line in last_lines(self._saying.text, self._console, most, indented=4)]
        for name, written in self._saying.calls[-CALLS_SHOWN:]:
            end = tail(written, max(10, self._console.width - len(name) - 8))
            shown.append(f"\n  [cyan]→ {literal(name)}[/]({literal(end)}")
        return "".join(shown)

    def _being_written(self) -> str:
        """Each line on one of the terminal's."""
        if not self._written:
            return ""
        width = max(10, self._console.width - 8)
        lines = _last_lines(self._written[next(reversed(self._written))])
        return "".join(f"\n    [dim]│ {literal(line.expandtabs()[:width])}[/]" for line in lines)

    def _message(self, data: dict[str, Any]) -> None:
        if data["role"] == "user":
            self._console.print(f"[bold]› {literal(data['content'])}[/]")
        if data["role"] == "assistant" and data.get("content") and data.get("tool_calls"):
            self._console.print(literal(data["content"]))

    def _turn(self, data: dict[str, Any]) -> None:
        self._doing = f"turn {data['turn']}: the model is thinking"

    def _writing(self, data: dict[str, Any]) -> None:
        self._doing = f"turn {data['turn']}: the model is writing"

    def _again(self, data: dict[str, Any]) -> None:
        self._doing = f"turn {data['turn']}: the reply broke off, and the model is asked again"

    def _call(self, data: dict[str, Any]) -> None:
        name = self._names[data["key"]] = data.get("of_plan") or data["name"]
        again = f" [yellow](attempt {data['attempt']})[/]" if data["attempt"] > 1 else ""
        arguments = literal(self._agents.in_words(data["arguments"]))
        what = f"[cyan]→ {data['key']} {literal(name)}[/]({arguments}){again}"
        self._console.print(f"  {what}", soft_wrap=True)
        self._doing = name if data.get("own") else f"waiting for a worker to run {name}"

    def _progress(self, data: dict[str, Any]) -> None:
        self._doing = f"{self._names.get(data['key'], 'a call')}: {data['text']}"
        if not self._console.is_terminal:
            self._console.print(f"    [dim]· {literal(data['text'])}[/]", soft_wrap=True)

    def _failed(self, data: dict[str, Any]) -> None:
        """Stays to be read on a terminal, too: it tells why a later result took more than one run."""
        name = self._names.get(data["key"], "")
        self._doing = f"{name or 'a call'}: {data['text']}"
        what = f"· {data['key']} {literal(name)}: {literal(short(data['text'], LINE_CHARS))}"
        self._console.print(f"    [dim]{what}[/]", soft_wrap=True)

    def _lost(self, data: dict[str, Any]) -> None:
        self._progress({**data, "text": f"lost: {short(data['text'], LINE_CHARS)}"})

    def _child(self, data: dict[str, Any]) -> None:
        """What people know it by, for `follow`."""
        who = f"{self._agents.of(data['child']) or 'conversation'} {data['child']}"
        self._doing = f"{self._names.get(data['key'], 'a call')}: {who} is {data['status']}"
        what = f"· {data['key']}: {literal(who)} is {literal(data['status'])}"
        self._console.print(f"    [dim]{what}[/]", soft_wrap=True)

    def _paused(self, data: dict[str, Any]) -> None:
        self._doing = "paused: `skillfleet resume` lets it go on"
        if not self._console.is_terminal:
            self._console.print("[dim]paused[/]")

    def _asked(self, data: dict[str, Any]) -> None:
        name = self._names[data["key"]] = data.get("of_plan") or data["name"]
        self._doing = f"waiting for a person: call {data['key']}, {name}"

    def _decided(self, data: dict[str, Any]) -> None:
        text = f": {literal(data['text'])}" if data["text"] else ""
        what = f"· call {data['key']} {literal(self._names.get(data['key'], ''))}: {data['verdict']}{text}"
        self._console.print(f"    [dim]{what}[/]", soft_wrap=True)

    def _resumed(self, data: dict[str, Any]) -> None:
        self._doing = "waiting for the fleet"

    def _result(self, data: dict[str, Any]) -> None:
        self._written.pop(data["key"], None)
        mark = MARKS.get(data["status"], "[red]✗[/]")
        name = self._names.get(data["key"]) or data.get("of_plan") or data.get("name", "")
        where = f" {data['ms']:.0f} ms on {literal(data['worker'])}" if data.get("worker") else ""
        runtime = f", {literal(data['runtime'])}" if data.get("runtime") else ""
        status = "" if data["status"] == "succeeded" else f" {literal(data['status'])}"
        self._console.print(f"  {mark} {data['key']} {literal(name)}{status}[dim]{where}{runtime}[/]", soft_wrap=True)
        for line in _last_lines(self._agents.in_words(data.get("tail", ""))):
            self._console.print(f"    [dim]│ {literal(line)}[/]", soft_wrap=True)


def _last_lines(text: str) -> list[str]:
    return text.splitlines()[-TAIL_LINES:]


def ending(report: Report) -> str:
    """One line that says how it ended, and where to look on."""
    calls = f"{len(report.tool_calls)} tool calls" if len(report.tool_calls) != 1 else "1 tool call"
    turns = f"{report.turns} turns" if report.turns != 1 else "1 turn"
    line = f"{report.status} in {report.elapsed_ms / 1000:.1f} s: {turns}, {calls}{_used(report.usage)} ({report.id})"
    if report.artifacts:
        files = "1 file" if len(report.artifacts) == 1 else f"{len(report.artifacts)} files"
        line = f"{line}\n{files}: skillfleet artifacts {report.id}"
    if report.error:
        line = f"{line}\n{report.error.message} {report.error.fix}".rstrip()
    return printable(line)


def divergence_lines(divergences: Sequence[Divergence]) -> list[str]:
    """Where a replay was not asked what was recorded."""
    lines = [
        f"the replay diverges in turn {one.turn}: {one.place} was {json.dumps(one.then, ensure_ascii=False)} "
        f"and is {json.dumps(one.now, ensure_ascii=False)}"
        for one in divergences[:DIVERGENCE_LINES]
    ]
    left = len(divergences) - DIVERGENCE_LINES
    return [*lines, f"and in {left} more places (--json tells them)"] if left > 0 else lines


def _used(usage: Usage) -> str:
    tokens = f", {usage.input_tokens} tokens in, {usage.output_tokens} out" if usage.input_tokens else ""
    return f"{tokens}, cost {usage.cost:.6g}" if usage.cost else tokens
