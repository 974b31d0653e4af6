"""doctor: what is there, what is missing, how to get it."""

import json
from typing import Annotated, Any

import typer

from skillfleet_workers.cli import host_findings
from skillfleet_workers.wire.connection import RedisUrls, SettingsError, load_settings
from skillfleet_workers.wire.fitness import Judgement, judged
from skillfleet_workers.wire.store import ArtifactStore, StoreError

from ..app import known_models
from ..conversations.limits import Problem
from ..errors import HistoryError, NoBrokerError
from ..fleet import Fleet
from ..history.unarchived import told_of
from ..llm.provider import readable
from ..llm.providers import choose
from ..settings import OrchestratorSettings
from .display import literal, stdout_console

MARKS = {True: "[green]✓[/]", None: "[yellow]-[/]", False: "[red]✗[/]"}

Line = dict[str, Any]


def doctor(as_json: Annotated[bool, typer.Option("--json", help="A JSON list on stdout.")] = False) -> int:
    """Look at redis, the fleet, the model's settings, files and history, skills, interpreters and isolation."""
    settings = load_settings(OrchestratorSettings)
    lines = [*_fleet_lines(settings), _model_line(settings), _store_line(settings), _history_line(settings)]
    lines += [finding.model_dump() for finding in host_findings()]
    if as_json:
        print(json.dumps(lines))
    else:
        _show(lines)
    return 1 if any(line["ok"] is False for line in lines) else 0


def _fleet_lines(settings: OrchestratorSettings) -> list[Line]:
    where = RedisUrls.of(settings).safe
    try:
        with Fleet(settings) as fleet:
            lines = [_redis_line(where, found) for found in judged(fleet.redis_facts())]
            living, failing = fleet.running(), fleet.unarchivable()
    except NoBrokerError as error:
        return [_line("redis", where, False, str(error))]
    lines += [_line(f"{p.role}s", p.name, True, _about(p.slots, p.isolation, p.skills)) for p in living]
    for role in ("orchestrator", "worker"):
        if not any(process.role == role for process in living):
            fix = "start one with `skillfleet up`" + ("" if settings.redis_url else "; a lone submit starts its own")
            lines.append(_line(f"{role}s", "none", None, "no fleet is running", fix))
    if settings.keeps_history and not any(process.role == "archiver" for process in living):
        fix = "start one with `skillfleet archiver`; until then `skillfleet history` catches up by itself"
        lines.append(_line("archivers", "none", None, "nobody writes the history", fix))
    if settings.keeps_history and failing:
        fix = "see docs/history.md, How it is written"
        lines.append(_line("archivers", "left over", False, told_of(failing), fix))
    return lines


def _redis_line(where: str, found: Judgement) -> Line:
    return _line("redis", where, found.ok, found.detail, found.fix)


def _model_line(settings: OrchestratorSettings) -> Line:
    chosen = choose("", settings)
    if isinstance(chosen, Problem):
        return _line("model", "provider", None, chosen.message)
    try:
        facts = known_models(settings).facts("")
    except SettingsError as wrong:
        return _line("model", chosen.model, False, str(wrong))
    known = f"window {facts.window} tokens, {'prices known' if facts.prices else 'no prices known'}"
    return _line("model", chosen.model, True, f"{chosen.provider} format at {readable(chosen.base_url)}; {known}")


def _store_line(settings: OrchestratorSettings) -> Line:
    try:
        store = ArtifactStore.of(settings)
        store.check()
    except StoreError as wrong:
        return _line("files", "artifact store", False, str(wrong))
    return _line("files", "artifact store", True, store.where)


def _history_line(settings: OrchestratorSettings) -> Line:
    # Its database's libraries, which every other command would wait for too.
    from ..history.database import open_history  # noqa: PLC0415

    if not settings.keeps_history:
        return _line("files", "history", None, "is off (SKILLFLEET_HISTORY_URL)")
    try:
        history = open_history(settings)
    except (SettingsError, HistoryError) as wrong:
        return _line("files", "history", False, str(wrong))
    history.close()
    return _line("files", "history", True, history.where)


def _about(slots: int, isolation: str, skills: tuple[str, ...]) -> str:
    parts = [
        f"{slots} at once",
        isolation and f"isolation {isolation}",
        skills and f"skills {', '.join(skills)}",
    ]
    return ", ".join(part for part in parts if part)


def _line(area: str, what: str, ok: bool | None, detail: str, fix: str = "") -> Line:
    return {"area": area, "what": what, "ok": ok, "detail": detail, "fix": fix}


def _show(lines: list[Line]) -> None:
    console = stdout_console()
    area = ""
    for line in lines:
        if line["area"] != area:
            area = line["area"]
            console.print(f"[bold]{area}[/]")
        console.print(f"  {MARKS[line['ok']]} {literal(line['what'])}: {literal(line['detail'])}")
        if line["fix"]:
            console.print(f"      [dim]→ {literal(line['fix'])}[/]")
