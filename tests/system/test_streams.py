"""What a model says, on the terminal of who submitted: while it says it, and until its message comes."""

import json
import os
import pty
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.distributions import installed
from tests.system.fleet import COMMAND, Place, running_fleet, wait_for
from tests.system.replies import Held
from tests.system.servers import RedisServer

from skillfleet.events import Entry
from skillfleet.fleet import Fleet

ROOT = Path(__file__).parents[2]

MODEL = """
import json
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.llm.base import Again, Calling, ModelReply, Said

class Dictated:
    def __init__(self, folder):
        self.folder = folder
    def reply(self, request, hear):
        turn = sum(message.role == "assistant" for message in request.messages)
        with open(f"{self.folder}/{turn}") as lines:
            for kind, *said in map(json.loads, lines):
                if kind == "reply":
                    text, script = said
                    return ModelReply(Message(role="assistant", content=text, tool_calls=script and [call(script)]))
                hear({"said": Said, "calling": Calling, "again": Again}[kind](*said))

def call(script):
    arguments = json.dumps({"skill_name": "lab", "script": script})
    return ToolCall(id="call_1", function=FunctionCall(name="run_python_script", arguments=arguments))
"""


@dataclass
class Dictation:
    """What a model says: a pipe for each turn. It is asked when the pipe is read."""

    folder: Path
    turns: int = 2

    def __post_init__(self) -> None:
        self.folder.mkdir()
        for turn in range(self.turns):
            os.mkfifo(self.folder / str(turn))

    @property
    def model(self) -> str:
        return f"dictated:{self.folder}"

    @contextmanager
    def turn(self, number: int) -> Iterator["Pen"]:
        with (self.folder / str(number)).open("w", buffering=1) as lines:
            yield Pen(lines.write)


@dataclass
class Pen:
    write: Callable[[str], object]

    def says(self, kind: str, *said: object) -> None:
        self.write(json.dumps([kind, *said]) + "\n")


def with_dictated(folder: Path, variables: dict[str, str]) -> Place:
    others = installed(folder / "other", "dictating", MODEL, {"skillfleet.models": "dictated = dictating:Dictated"})
    return Place(folder, variables | {"PYTHONPATH": str(others)})


@dataclass
class Terminal:
    """Of a command that runs on it."""

    process: "subprocess.Popen[bytes]"
    near: int
    written: bytearray = field(default_factory=bytearray)

    def read(self) -> None:
        with suppress(OSError):  # what Linux answers when the other side is closed
            while chunk := os.read(self.near, 4096):
                self.written += chunk

    def shows(self, text: str) -> None:
        wait_for(lambda: text in self.written.decode(errors="replace"), f"{text!r} is shown")


@contextmanager
def on_a_terminal(place: Place, *arguments: str) -> Iterator[Terminal]:
    near, far = pty.openpty()
    variables = place.environment({"TERM": "xterm", "COLUMNS": "100", "LINES": "30"})
    with subprocess.Popen([*COMMAND, *arguments], cwd=place.folder, env=variables, stdout=far, stderr=far) as process:
        os.close(far)
        terminal = Terminal(process, near)
        reader = threading.Thread(target=terminal.read)
        reader.start()
        try:
            yield terminal
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait(60)
            reader.join(60)
            os.close(near)
    assert process.returncode == 0, terminal.written.decode()


def test_a_reply_and_the_output_of_a_script_build_up_on_the_terminal(tmp_path: Path, state_dir: Path) -> None:
    place = with_dictated(state_dir, {})
    told, held = Dictation(tmp_path / "told"), Held()
    with on_a_terminal(place, "submit", "--follow", "--model", told.model, "Compute.") as terminal:
        with told.turn(0) as pen:
            pen.says("said", "I shall \x1b[2J run")
            terminal.shows("I shall ␛[2J run")
            pen.says("again")
            terminal.shows("asked again")
            pen.says("calling", 0, "run_python_script", '{"skill_name": "l')
            terminal.shows('({"skill_name": "l')
            pen.says("reply", "I run it.", held.script)
        terminal.shows("│ holding")
        wait_for(held.runs, "the script waits")
        held.let_go()
        with told.turn(1) as pen:
            before = len(terminal.written)
            pen.says("said", "It is for")
            terminal.shows("It is for")
            pen.says("said", "ty-two")
            terminal.shows("It is forty-two")
            pen.says("reply", "It is 42.", None)
    seen = terminal.written.decode()
    assert "\x1b[2J run" not in seen
    last = terminal.written[before:].decode(errors="replace")
    assert last.rindex("It is 42.") > last.rindex("It is forty-two")


@pytest.fixture
def place(tmp_path: Path, state_dir: Path) -> Iterator[Place]:
    with RedisServer(tmp_path / "redis") as server:
        place = with_dictated(state_dir, {"SKILLFLEET_REDIS_URL": server.url})
        with running_fleet(place, workers=1):
            yield place


def test_a_follower_that_comes_late_or_comes_back_has_each_piece_once(place: Place, tmp_path: Path) -> None:
    told, seen = Dictation(tmp_path / "told", turns=1), list[Entry]()
    words = [f"word{n} " for n in range(40)]
    with Fleet(place.settings) as fleet:
        name = fleet.submit("Tell.", model=told.model, detach=True)
        with told.turn(0) as pen:
            for number, word in enumerate(words):
                pen.says("said", word)
                seen += followed_to(fleet, name, seen, number + 1, words)
            late = followed_to(fleet, name, [], len(words), words)
            pen.says("reply", "".join(words), None)
        seen += [entry for entry in fleet.follow(name, seen[-1].cursor) if entry]
        whole = [entry for entry in fleet.follow(name) if entry]
    assert seen == whole
    assert late == whole[: len(late)]
    assert text(whole) == "".join(words)
    assert documented_example(place, name)["said"] == "".join(words)


def documented_example(place: Place, name: str) -> dict[str, Any]:
    """What the document's own way to put a reply together has come to."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/streams.md").read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "token" in block]
    names = {"Fleet": place.fleet, "conversation_id": name}
    exec(example, names)
    return names


def followed_to(fleet: Fleet, name: str, seen: list[Entry], number: int, words: list[str]) -> list[Entry]:
    """What is told further until so many of the words are."""
    more: list[Entry] = []
    for entry in fleet.follow(name, seen[-1].cursor if seen else "0"):
        more += [entry] if entry else []
        if text(seen + more) == "".join(words[:number]):
            break
    return more


def text(entries: list[Entry]) -> str:
    return "".join(entry.data["text"] for entry in entries if entry.type == "token")
