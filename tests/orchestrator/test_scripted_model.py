"""ScriptedModel: written replies that can only quote what really happened."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from skillfleet.conversations.limits import Problem, Usage
from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.llm.base import Calling, ModelReply, ModelRequest, Piece, Said
from skillfleet.llm.prompts import opening
from skillfleet.llm.scripted import ScriptedModel, load_script

RUN = {"status": "succeeded", "returncode": 0, "stdout": ' {"mean": 3.5, "rows": [{"x": "é"}]}\n', "stderr": ""}
SHOWN = json.dumps(RUN)


def call(name: str | None = None, tool: str = "run_python_script", **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments} | ({"as": name} if name else {})


def play(replies: list[dict[str, Any]], results: dict[str, str] | None = None) -> tuple[Message, ...]:
    """The transcript at the end of the script, where each tool brings what `results` says."""
    model = ScriptedModel.of({"replies": replies})
    messages = opening("go")
    for _ in replies:
        outcome = model.reply(ModelRequest(messages, (), 5))
        assert isinstance(outcome, ModelReply), outcome
        messages += (outcome.message,)
        for asked in outcome.message.tool_calls or ():
            content = (results or {}).get(asked.function.name, SHOWN)
            messages += (Message(role="tool", tool_call_id=asked.id, content=content),)
    assert transcript_problem(messages) is None
    return messages


def answer(text: str, results: dict[str, str] | None = None) -> str | None:
    calls = [call("a", tool="run"), call("doc", tool="read"), call("list", tool="list")]
    return play([{"calls": calls}, {"text": text}], results)[-1].content


def refused(text: str, results: dict[str, str] | None = None) -> Problem:
    model = ScriptedModel.of({"replies": [{"calls": [call("a", tool="run")]}, {"text": text}]})
    messages = play([{"calls": [call("a", tool="run")]}], results)
    outcome = model.reply(ModelRequest(messages, (), 5))
    assert isinstance(outcome, Problem)
    return outcome


def test_replies_come_in_order_with_deterministic_call_ids() -> None:
    messages = play([{"text": "Looking.", "calls": [call(), call()]}, {"calls": [call()]}, {"text": "Done."}])
    said = [message for message in messages if message.role == "assistant"]
    assert [message.content for message in said] == ["Looking.", None, "Done."]
    ids = [asked.id for message in said for asked in message.tool_calls or ()]
    assert ids == ["call_0_0", "call_0_1", "call_1_0"]


def test_a_reply_is_told_word_by_word_where_the_script_says_so() -> None:
    reply = {"text": "Two  words.\n", "calls": [call(script="print(1)")], "delay_s": 0.01}
    heard: list[Piece] = []
    for streams in (False, True):
        heard.clear()
        outcome = ScriptedModel.of({"replies": [reply | {"stream": streams}]}).reply(
            ModelRequest(opening("go"), (), 5), heard.append
        )
        assert isinstance(outcome, ModelReply)
    assert heard[:2] == [Said("Two  "), Said("words.\n")]
    arguments = "".join(piece.arguments for piece in heard if isinstance(piece, Calling))
    assert json.loads(arguments) == {"script": "print(1)"}


def test_the_same_transcript_gets_the_same_reply_from_any_instance() -> None:
    replies: list[dict[str, Any]] = [{"calls": [call("a")]}, {"text": "${a.json.mean}"}]
    messages = play(replies)[:-1]
    one, two = (ScriptedModel.of({"replies": replies}).reply(ModelRequest(messages, (), 5)) for _ in range(2))
    assert one == two == ModelReply(Message(role="assistant", content="3.5"), Usage())


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("${a}", SHOWN),
        ("<${a.stdout}>", '<{"mean": 3.5, "rows": [{"x": "é"}]}>'),
        ("${a.json.mean} and ${a.returncode}", "3.5 and 0"),
        ("${a.json.rows.0.x}", "é"),
        ("${a.json.rows}", '[{"x": "é"}]'),
        ("${ a.status }", "succeeded"),
        ("$${a} costs $5, {a} and ${a.stderr}.", "${a} costs $5, {a} and ."),
        ("${doc}", "# Calculator\n"),
        ("${list.0.name}", "calculator"),
    ],
)
def test_a_text_quotes_what_the_tools_brought(text: str, quoted: str) -> None:
    brought = {"run": SHOWN, "read": "# Calculator\n", "list": '[{"name": "calculator"}]'}
    assert answer(text, brought) == quoted


@pytest.mark.parametrize(
    "text",
    [
        "${nobody}",
        "${a.nothing}",
        "${a.json.median}",
        "${a.json.rows.1}",
        "${a.json.rows.x}",
        "${a.json.mean.x}",
        "${}",
        "${a.}",
        "${a b}",
    ],
)
def test_a_quote_of_what_did_not_happen_is_a_problem(text: str) -> None:
    problem = refused(f"It is {text}.")
    assert problem.code == "script_reference"
    assert text in problem.message
    assert "replies[1]" in problem.message


@pytest.mark.parametrize(
    "brought", ['{"error": "unknown_skill", "message": "no skill calculater", "fix": "list_skills"}', "plain text"]
)
def test_the_problem_shows_what_the_call_really_brought(brought: str) -> None:
    assert brought in refused("${a.json.mean}", {"run": brought}).message
    assert brought in refused("${a.stdout}", {"run": brought}).message


def test_a_failed_run_shows_its_own_stdout_and_no_json() -> None:
    crashed = json.dumps(RUN | {"status": "failed", "returncode": 1, "stdout": "half"})
    assert answer("${a.stdout} ${a.status}", {"run": crashed}) == "half failed"
    assert refused("${a.json.mean}", {"run": crashed}).code == "script_reference"


def test_a_result_can_be_quoted_only_after_it_came_back() -> None:
    model = ScriptedModel.of({"replies": [{"text": "${a}", "calls": [call("a")]}]})
    outcome = model.reply(ModelRequest(opening("go"), (), 5))
    assert isinstance(outcome, Problem)
    assert outcome.code == "script_reference"


def test_a_conversation_that_outlives_its_script_is_a_problem() -> None:
    replies = [{"calls": [call()]}]
    outcome = ScriptedModel.of({"replies": replies}).reply(ModelRequest(play(replies), (), 5))
    assert isinstance(outcome, Problem)
    assert outcome.code == "script_exhausted"
    assert outcome.fix


def test_a_script_that_is_named_anew_begins_behind_what_was_said_before() -> None:
    before = (*opening("Hi."), Message(role="assistant", content="Hello."), Message(role="user", content="And now?"))
    script = {"replies": [{"calls": [call("it")]}, {"text": "${it}"}]}
    model = ScriptedModel.of(script, start=1)
    first = model.reply(ModelRequest(before, (), 1))
    assert isinstance(first, ModelReply)
    (asked,) = first.message.tool_calls or ()
    brought = Message(role="tool", tool_call_id=asked.id, content="brought")
    second = model.reply(ModelRequest((*before, first.message, brought), (), 1))
    assert isinstance(second, ModelReply)
    assert second.message.content == "brought"
    spent = model.reply(ModelRequest((*before, first.message, brought, second.message), (), 1))
    assert isinstance(spent, Problem)
    assert spent.code == "script_exhausted"


def test_arguments_written_as_text_are_sent_as_they_are() -> None:
    replies = [
        {
            "calls": [
                {"tool": "x", "arguments": '{"broken": '},
                {"tool": "x", "arguments": {"é": [1, None]}},
                {"tool": "x"},
            ]
        }
    ]
    sent = [asked.function.arguments for asked in play(replies)[2].tool_calls or ()]
    assert sent == ['{"broken": ', '{"é": [1, null]}', "{}"]


def test_a_model_that_takes_its_time_is_late_past_the_timeout() -> None:
    model = ScriptedModel.of({"replies": [{"text": "slow", "delay_s": 0.2}]})
    start = time.monotonic()
    assert isinstance(model.reply(ModelRequest(opening("go"), (), 5)), ModelReply)
    assert time.monotonic() - start >= 0.2
    late = model.reply(ModelRequest(opening("go"), (), 0.05))
    assert isinstance(late, Problem)
    assert late.code == "model_timeout"


SCRIPT = """
replies:
  - text: Looking.
    calls:
      - {tool: run_python_script, arguments: {skill_name: calculator, script: "print(6*7)"}, as: a}
    delay_s: 0.5
  - text: "The answer is ${a.stdout}"
"""


def test_a_script_file_survives_the_journey_as_json(tmp_path: Path) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(SCRIPT)
    script = load_script(path)
    assert json.loads(json.dumps(script)) == script
    assert script["replies"][0]["calls"][0]["as"] == "a"
    (tmp_path / "demo.json").write_text(json.dumps(script))
    assert load_script(tmp_path / "demo.json") == script
    first = ScriptedModel.of(script).reply(ModelRequest(opening("go"), (), 5))
    assert isinstance(first, ModelReply)
    assert first.message.content == "Looking."


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("replies:\n  - text: 'never closed\n", "line 3"),
        ("", "the file"),
        ("just words", "the file"),
        ("replies: []", "replies"),
        ("replies:\n  - {}", "replies[0]: needs text or calls"),
        ("replies:\n  - {text: hi, cals: []}", "replies[0].cals"),
        ("replies:\n  - text: 42", "replies[0].text"),
        ("replies:\n  - calls: [{arguments: {}}]", "replies[0].calls[0].tool"),
        (
            "replies:\n  - calls: [{tool: x, arguments: {day: 2024-01-01}}]",
            "replies[0].calls[0].arguments.day: a date",
        ),
        ("replies:\n  - calls: [{tool: x, arguments: {in: [{at: 2024-01-01 10:00:00}]}}]", "in[0].at: a datetime"),
        ("replies:\n  - calls: [{tool: x, arguments: {one: !!binary aGk=}}]", "arguments.one: bytes"),
        ("replies:\n  - calls: [{tool: x, arguments: {one: !!set {a, b}}}]", "arguments.one: a set"),
        ("replies:\n  - calls: [{tool: x, arguments: {one: .nan}}]", "arguments.one: nan"),
        ("replies:\n  - calls: [{tool: x, arguments: {one: -.inf}}]", "arguments.one: -inf"),
        ("replies:\n  - calls: [{tool: x, arguments: {7: one}}]", "arguments: the key 7"),
        ("replies:\n  - calls: [{tool: x, arguments: {null: one}}]", "arguments: the key None"),
        ("replies:\n  - calls: [{tool: x, arguments: 7}]", "replies[0].calls[0].arguments: needs"),
        ("replies:\n  - calls: [{tool: x, arguments: [7]}]", "replies[0].calls[0].arguments: needs"),
        ("replies:\n  - calls: [{tool: x, arguments: &a {a: *a}}]", "nested"),
        ("replies:\n  - calls: [{tool: x, arguments: {a: " + "[" * 5000 + "]" * 5000 + "}}]", "nested"),
        ('replies: [{text: "\\uD800"}]', "replies[0].text: half"),
        ('replies: [{calls: [{tool: x, arguments: {a: "\\uDFFF"}}]}]', "replies[0].calls[0].arguments.a: half"),
        ('replies: [{calls: [{tool: x, arguments: {"\\uDFFF": a}}]}]', "replies[0].calls[0].arguments: half"),
        ("replies:\n  - text: 2024-99-99", "wrong.yaml: "),
        ("replies:\n  - text: !!timestamp soon", "wrong.yaml: "),
        ("replies:\n  - text: !!bool soon", "wrong.yaml: "),
        ("replies:\n  - text: " + "9" * 5000, "wrong.yaml: "),
        ("replies:\n  - calls: [{tool: x, as: a.b}]", "replies[0].calls[0].as"),
        ("replies:\n  - calls: [{tool: x, as: a}, {tool: x, as: a}]", "'a'"),
        ("replies:\n  - {text: hi, delay_s: -1}", "replies[0].delay_s"),
        ("replies:\n  - text: \x07", "YAML"),
    ],
)
def test_a_wrong_script_is_told_in_one_line_with_file_and_place(tmp_path: Path, written: str, says: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(written)
    with pytest.raises(ValueError, match=r"wrong\.yaml") as wrong:
        load_script(path)
    assert type(wrong.value) is ValueError
    told = str(wrong.value)
    assert says in told
    assert "\n" not in told
    assert told.isprintable()
    assert not [word for word in ("json-or-python", "dict[", "NoneType") if word in told]


def test_a_json_file_may_spell_a_character_in_two_halves(tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    path.write_text(json.dumps({"replies": [{"text": "👋", "calls": [{"tool": "x", "arguments": {"👋": ["👋"]}}]}]}))
    assert "ud83d" in path.read_text()
    (reply,) = load_script(path)["replies"]
    assert reply == {"text": "👋", "calls": [{"tool": "x", "arguments": {"👋": ["👋"]}}]}


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.yaml", "bytes.yaml", "."):
        with pytest.raises(ValueError, match="name a YAML file") as wrong:
            load_script(tmp_path / name)
        assert type(wrong.value) is ValueError
        assert "\n" not in str(wrong.value)
