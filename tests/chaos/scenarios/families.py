"""Parents with subagents that write to them, under SIGKILL."""

import json
import random
import secrets
import time
from collections import Counter
from typing import Any

from tests.system.fleet import wait_for

from skillfleet.app import make_ledger
from skillfleet.conversations.ledger import Ledger
from skillfleet.conversations.models import TERMINAL, Conversation, ConversationSpec
from skillfleet.llm.prompts import opening
from skillfleet.submission import new_id
from skillfleet.tools.definitions import all_definitions, definition
from skillfleet.tools.own import MESSAGING, RECEIVE, SEND_MESSAGE, SPAWN, SPAWNING

from ..side import ANSWER
from .scenario import Verdict
from .siege import SCRIPT_S, Siege, besieged

PATIENCE_S = 120.0
SCOUTS = 2
ANSWERS_S = 300


def families_killed(chance: random.Random, full: bool) -> Verdict:
    """Each parent begins subagents, hears a message of each, waits for one, and leaves another one at work when it
    answers. Orchestrators and workers die meanwhile: every parent answers once, nobody outlives the parent, and each
    message is handed out once."""
    with besieged() as siege:
        ledger = make_ledger(siege.side.settings)
        specs = [_parent(siege) for _ in range(12 if full else 4)]
        ledger.submit(*specs)
        siege.side.watch([spec.id for spec in specs])
        for _ in range(8 if full else 3):
            time.sleep(chance.uniform(0.5, 1.5))
            living = [post for post in siege.crew.posts if post.alive]
            siege.crew.kill(chance.choice(living))
        wait_for(siege.all_ended, "every parent has ended", PATIENCE_S)
        wait_for(lambda: not _open(ledger), "nobody outlives the parent", PATIENCE_S)
        for spec in specs:
            siege.verdict.violations += _wrongs(ledger, spec.id)
        siege.verdict.facts.append(f"{len(specs)} parents, {len(ledger.newest(1000)) - len(specs)} subagents")
    return siege.verdict


def _parent(siege: Siege) -> ConversationSpec:
    script = siege.roll.script("1", SCRIPT_S)
    work = {"tool": "run_python_script", "arguments": {"skill_name": "lab", "script": script}}
    hello = {"recipient_id": "parent", "payload": {"token": secrets.token_hex(4)}, "ttl": ANSWERS_S * 10}
    scout = [{"calls": [work]}, {"calls": [_own(SEND_MESSAGE.tool, hello)]}, {"text": "Seen."}]
    sleeper = [{"calls": [_own(RECEIVE.tool, {"timeout": ANSWERS_S})]}, {"text": "Nobody has called."}]
    begin = [_spawn("scout", wait=False) for _ in range(SCOUTS)]
    hear = [{"calls": [_own(RECEIVE.tool, {"timeout": ANSWERS_S - number, "limit": 1})]} for number in range(SCOUTS)]
    replies = [
        {"calls": [*begin, _spawn("sleeper", wait=False)]},
        *hear,
        {"calls": [_spawn("digger", wait=True)]},
        {"text": ANSWER},
    ]
    digger = [{"calls": [_spawn("miner", wait=True)]}, {"text": "Dug."}]
    children = {
        "scout": scout,
        "sleeper": sleeper,
        "digger": digger,
        "miner": [{"calls": [work]}, {"text": "Mined."}],
    }
    tools = (*all_definitions(), *map(definition, (*SPAWNING, *MESSAGING)))
    told = {"replies": replies, "children": children}
    return ConversationSpec(
        id=new_id(), model="scripted:families", script=told, opening=opening("Look around."), tools=tools,
        subagents=True,
    )  # fmt: skip


def _own(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def _spawn(name: str, *, wait: bool) -> dict[str, Any]:
    return _own(SPAWN.tool, {"prompt": "Go.", "name": name, "wait": wait})


def _open(ledger: Ledger) -> list[str]:
    return [one.id for one in ledger.newest(1000) if not one.terminal]


def _wrongs(ledger: Ledger, name: str) -> list[str]:
    parent = ledger.load(name)
    assert parent is not None
    wrong = (
        [] if (parent.status, parent.answer) == ("completed", ANSWER) else [f"{name}: {parent.status} {parent.error}"]
    )
    ends = [entry for entry in ledger.entries(name, "0", 0) if entry.type == "ended"]
    wrong += [f"{name} ended {len(ends)} times"] if len(ends) != 1 else []
    handed = Counter(_handed(parent))
    wrong += [f"{name} was handed {one} {times} times" for one, times in handed.items() if times > 1]
    wrong += [f"{name} was handed {len(handed)} messages of {SCOUTS}"] if len(handed) != SCOUTS else []
    family = [one for one in ledger.newest(1000) if one.root == name and one.id != name]
    late = [one.id for one in family if one.status not in TERMINAL or _outlived(ledger, parent, one.id)]
    return wrong + [f"{one} went on after {name} had ended" for one in late]


def _handed(parent: Conversation) -> list[str]:
    shown = [one.content or "" for one in parent.messages if one.role == "tool" and one.name == RECEIVE.tool]
    return [told["message_id"] for text in shown if text.startswith("[{") for told in json.loads(text)]


def _outlived(ledger: Ledger, parent: Conversation, child: str) -> bool:
    """It was asked, or ran, after its parent's end."""
    (end,) = [entry.at for entry in ledger.entries(parent.id, "0", 0) if entry.type == "ended"]
    return any(entry.type == "started" and entry.at > end for entry in ledger.entries(child, "0", 0))
