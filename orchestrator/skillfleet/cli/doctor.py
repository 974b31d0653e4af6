"""doctor: what is there, what is missing, how to get it."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console

from skillfleet_workers.cli import host_findings
from skillfleet_workers.wire.connection import RedisUrls, SettingsError, load_settings

from ..errors import NoBrokerError
from ..fleet import Fleet
from ..settings import OrchestratorSettings
from .display import literal

MARKS = {True: "[green]✓[/]", None: "[yellow]-[/]", False: "[red]✗[/]"}

Line = dict[str, Any]


def doctor(as_json: Annotated[bool, typer.Option("--json", help="A JSON list on stdout.")] = False) -> int:
    """Look at redis, the fleet, the model's settings, skills, interpreters and isolation."""
    settings = load_settings(OrchestratorSettings)
    lines = [*_fleet_lines(settings), _model_line(settings)]
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
            lines = [_redis_line(fleet, where)]
            living = fleet.running()
    except NoBrokerError as error:
        return [_line("redis", where, False, str(error))]
    lines += [_line(f"{p.role}s", p.name, True, _about(p.slots, p.isolation, p.skills)) for p in living]
    for role in ("orchestrator", "worker"):
        if not any(process.role == role for process in living):
            fix = "start one with `skillfleet up`" + ("" if settings.redis_url else "; a lone submit starts its own")
            lines.append(_line(f"{role}s", "none", None, "no fleet is running", fix))
    return lines


def _redis_line(fleet: Fleet, where: str) -> Line:
    about = fleet.redis_facts()
    policy = about["maxmemory_policy"]
    bounded = about["maxmemory"] != "0"
    if bounded and policy != "noeviction":
        fix = "redis-cli CONFIG SET maxmemory-policy noeviction"
        return _line("redis", where, False, f"may drop conversations: maxmemory-policy is {policy}", fix)
    append = "on" if about["aof_enabled"] == "1" else "off"
    fix = "" if append == "on" else "set `appendonly yes`: without it a restart of redis loses conversations"
    return _line(
        "redis",
        where,
        True if append == "on" else None,
        f"{about['redis_version']}, append-only file {append}",
        fix,
    )


def _model_line(settings: OrchestratorSettings) -> Line:
    try:
        settings.require_model("")
    except SettingsError as missing:
        return _line("model", "provider", None, str(missing))
    return _line("model", settings.llm_model_name or "", True, settings.llm_api_base_url or "")


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
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    area = ""
    for line in lines:
        if line["area"] != area:
            area = line["area"]
            console.print(f"[bold]{area}[/]")
        console.print(f"  {MARKS[line['ok']]} {literal(line['what'])}: {literal(line['detail'])}")
        if line["fix"]:
            console.print(f"      [dim]→ {literal(line['fix'])}[/]")
