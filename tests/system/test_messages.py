"""Messages between the conversations of one tree, and of people to them, on a real fleet."""

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import interrupt, wait_for
from tests.system.replies import Turn, call
from tests.system.standing_fleet import standing_fleet
from tests.system.talking import Tree

from skillfleet.errors import BadRequestError, UnknownConversationError
from skillfleet_workers.wire.uuids import uuid_of

ROOT = Path(__file__).parents[2]
QUESTION = uuid_of("where is the cup?")


def request(recipient: str, **more: Any) -> list[dict[str, Any]]:
    about = {"message_type": "request", "correlation_id": QUESTION, "payload": {"what": "cup"}}
    return [call("send_message", "asked", recipient_id=recipient, **about, **more)]


def response(recipient: str, **payload: Any) -> list[dict[str, Any]]:
    about = {"message_type": "response", "correlation_id": QUESTION}
    return [call("send_message", "replied", recipient_id=recipient, payload=payload, **about)]


def receive(timeout: int = 60, alias: str | None = "got", **wanted: Any) -> list[dict[str, Any]]:
    return [call("receive_messages", alias, timeout=timeout, **wanted)]


def send(recipient: str, **payload: Any) -> list[dict[str, Any]]:
    return [call("send_message", "sent", recipient_id=recipient, payload=payload)]


def publish(topic: str, **payload: Any) -> dict[str, Any]:
    return call("publish", topic=topic, payload=payload)


def test_a_request_is_answered_by_another_agent(shared: Shared) -> None:
    tree = Tree(shared.place)
    asker, asked = tree.ids
    tree.begin(
        [request(asked), receive(correlation_id=QUESTION), "It is in the ${got.0.payload.room}."],
        [receive(), response(asker, room="kitchen"), "I told ${got.0.sender_id}."],
    )
    assert tree.answers() == ["It is in the kitchen.", f"I told {asker}."]
    told, (answer,) = tree.shown(0)
    assert told["delivered_to"] == 1 and told["correlation_id"] == QUESTION
    assert (answer["message_type"], answer["sender_id"]) == ("response", asked)
    handed = tree.handed()
    assert len(handed) == len(set(handed)) == 2


def test_the_example_of_the_document_prints_what_it_says(shared: Shared) -> None:
    document = (ROOT / "docs" / "messages.md").read_text()
    (script,) = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    (printed,) = re.findall(r"this prints `(.*)`", document)
    (command,) = re.findall(r"^skillfleet (submit .*)$", document, re.MULTILINE)
    (shared.place.folder / "cup.yaml").write_text(script)
    done = shared.place.cli(*shlex.split(command), "--follow")
    assert (done.returncode, done.stdout) == (0, f"{printed}\n"), done.stderr
    assert "-> " in done.stderr and "given 1 message" in done.stderr


def test_a_subagent_asks_its_parent_and_goes_on_with_the_answer(shared: Shared) -> None:
    scout: list[Turn] = [request("parent"), receive(correlation_id=QUESTION), "I look in the ${got.0.payload.room}."]
    tree = Tree(shared.place, members=1, children={"scout": scout})
    spawned = call("spawn_subagent", "scout", prompt="Find the cup.", name="scout", wait=False)
    answer = response("${got.0.sender_id}", room="kitchen")
    tree.begin([[spawned], receive(), answer, [call("await_subagents", "ended")], "${ended.0.answer}"])
    assert tree.answers() == ["I look in the kitchen."]


def test_a_request_that_has_expired_reaches_nobody_and_its_answer_is_refused(shared: Shared) -> None:
    tree = Tree(shared.place)
    asker, asked = tree.ids
    late = [receive(4, None, correlation_id=uuid_of("another")), receive(0)]
    tree.begin(
        [request(asked, ttl=1), receive(9, correlation_id=QUESTION), "Nobody said."],
        [*late, response(asker, room="kitchen"), "Too late."],
    )
    assert tree.answers() == ["Nobody said.", "Too late."]
    assert tree.shown(0)[1].startswith("[]\nNo message")
    _, nothing, refused = tree.shown(1)
    assert nothing.startswith("[]\nNo message") and refused["error"] == "no_such_request"
    assert tree.handed() == []


def test_who_asked_one_that_ends_without_an_answer_is_told(shared: Shared) -> None:
    tree = Tree(shared.place)
    _, asked = tree.ids
    tree.begin([request(asked), receive(), "${got.0.payload.error} (${got.0.sender_id})"], [receive(), "I leave."])
    assert tree.answers()[0] == "recipient_ended (system)"
    (told,) = tree.shown(0)[1]
    assert (told["message_type"], told["correlation_id"]) == ("error", QUESTION)
    assert told["payload"]["recipient_id"] == asked


def test_what_is_published_comes_to_who_has_subscribed_and_is_seen_by_who_watches(shared: Shared) -> None:
    tree = Tree(shared.place)
    teller, hearer = tree.ids
    tree.begin(
        [
            receive(),
            [publish("vision.lost"), publish("navigation.done", at=3)],
            "Told.",
        ],
        [
            [call("subscribe", topic="navigation.*")],
            send(teller, ready=True),
            receive(topic="navigation.*"),
            "Heard ${got.0.topic} at ${got.0.payload.at}.",
        ],
    )
    watching = shared.place.start("messages", "tail", "--all", "--json", "--root", tree.root)
    assert tree.answers() == ["Told.", "Heard navigation.done at 3."]
    seen = [json.loads(line) for line in lines(watching, 3)]
    assert {one["topic"] or one["recipient_id"] for one in seen} == {teller, "vision.lost", "navigation.done"}
    assert interrupt(watching) == 130
    assert len(tree.handed()) == 2
    some = shared.place.start("messages", "tail", "--all", "--root", hearer, "--topic", "navigation.*")
    (line,) = lines(some, 1)
    assert f'{teller} -> navigation.done event {{"at": 3}}' in line
    assert interrupt(some) == 130


def lines(process: "subprocess.Popen[str]", count: int) -> list[str]:
    assert process.stdout
    return [process.stdout.readline() for _ in range(count)]


def test_a_person_writes_to_a_conversation_that_waits(shared: Shared) -> None:
    tree = Tree(shared.place)
    root, hearer = tree.ids
    tree.begin(
        [receive(), "${got.0.sender_id} says ${got.0.payload.room}."],
        [[call("subscribe", "heard", topic="stop")], receive(), "Stopped: ${got.0.payload.why}."],
    )
    readme = (ROOT / "README.md").read_text()
    sending, watching = (
        re.findall(rf"^skillfleet (messages {verb} .*)$", readme, re.M)[0] for verb in ("send", "tail")
    )
    sent = shared.place.cli(*shlex.split(sending.replace("ID", root)))
    assert sent.returncode == 0 and sent.stdout.endswith(": delivered to 1\n"), sent.stderr
    seeing = shared.place.start(*shlex.split(watching.replace("ID", root)))
    assert f'system -> {root} event {{"room": "kitchen"}}' in lines(seeing, 1)[0]
    assert interrupt(seeing) == 130
    with shared.place.fleet() as fleet:
        wait_for(lambda: fleet.status(hearer).turns >= 2, "it has subscribed")
        told = fleet.messages(root=root)
        assert next(told) is None  # what was sent before is not shown
        assert fleet.send(topic="stop", root=hearer, payload={"why": "fire"}).delivered_to == 1
        fleet.send(topic="stop", root=hearer, payload={"why": "smoke"})  # it may have stopped by now
        assert [one.payload["why"] for one in (next(told), next(told)) if one] == ["fire", "smoke"]
    assert tree.answers() == ["system says kitchen.", "Stopped: fire."]
    with shared.place.fleet() as fleet:
        with pytest.raises(BadRequestError, match="has ended"):
            fleet.send(root, payload={})
        with pytest.raises(BadRequestError, match="not in that tree"):
            fleet.send(root, root=fleet.submit("Wait.", model=shared.place.script("Here.")), payload={})


def test_what_cannot_be_sent_is_refused_in_one_line(shared: Shared) -> None:
    with shared.place.fleet() as fleet:
        with pytest.raises(UnknownConversationError):
            fleet.send("nobody", payload={})
        with pytest.raises(BadRequestError, match="name its first conversation"):
            fleet.send(topic="stop", payload={})
        with pytest.raises(BadRequestError, match="ttl"):
            fleet.send("nobody", payload={}, ttl=0)
        with pytest.raises(BadRequestError, match="navigation"):
            next(fleet.messages("a..b"))
        with pytest.raises(BadRequestError, match="no place"):
            next(fleet.messages(after="yesterday"))
    for payload in ("[1]", '{"at": NaN}', "@gone.json", "@-"):
        refused = shared.place.cli("messages", "send", "nobody", "--payload", payload, stdin="{")
        assert (refused.returncode, refused.stdout) == (2, "") and refused.stderr.count("\n") == 1
        assert "--payload: " in refused.stderr


def test_a_message_whose_sender_dies_before_it_is_out_comes_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    with standing_fleet(tmp_path_factory.mktemp("dying")) as standing:
        standing.worker()
        tree = Tree(standing.place)
        hearer = tree.ids[1]
        soon = {"SKILLFLEET_RECOVERY_SECONDS": "3"}
        dying = standing.place.start(
            "dying", module="tests.system.dying_sender", env={**soon, "PYTHONPATH": str(ROOT)}
        )
        tree.begin(
            [send(hearer, n=1), "${sent.delivered_to}"],
            [receive(), receive(2, None), "${got.0.payload.n}"],
        )
        with dying:
            assert dying.wait(40) == -signal.SIGKILL
        standing.orchestrator(**soon)
        assert tree.answers() == ["1", "1"]
        assert len(tree.handed()) == 1
