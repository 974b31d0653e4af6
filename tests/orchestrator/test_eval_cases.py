"""A file of cases: what is submitted and checked, and one line where it is wrong."""

import json
from pathlib import Path

import pytest

from skillfleet.errors import BadRequestError
from skillfleet.evals.cases import Case, read_cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text("replies: [{text: hi}]")
    (tmp_path / "answer.json").write_text(json.dumps({"type": "object"}))
    return tmp_path


def read(folder: Path, text: str) -> list[Case]:
    path = folder / "eval.yaml"
    path.write_text(text)
    return read_cases(path)


def test_cases_have_the_options_of_the_file_and_their_own(folder: Path) -> None:
    text = """
model: scripted:s.yaml
timeout: 60
skills: [lab]
cases:
  - {name: one, prompt: Hi}
  - {name: two, prompt: Ho, timeout: 5, schema: answer.json, checks: {json_schema: answer.json, contains: x}}
"""
    one, two = read(folder, text)
    assert (one.submission.timeout, two.submission.timeout) == (60, 5)
    assert (one.submission.skills, two.submission.answer_schema) == (("lab",), {"type": "object"})
    assert one.submission.model == f"scripted:{folder / 's.yaml'}"
    assert (one.checks.status, two.checks.contains, two.checks.json_schema) == (
        "completed",
        ("x",),
        {"type": "object"},
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "has no `cases:`"),
        ("cases: []", "has no `cases:`"),
        ("cases: [{prompt: Hi}]", r"cases\[0\]: has no `name`"),
        ("cases: [{name: a}]", r"cases\[0\] \(a\): the prompt: Field required"),
        ("cases: [{name: a, prompt: ' '}]", "the prompt is empty"),
        ("cases: [{name: a, prompt: x, promt: y}]", "promt: is no option here"),
        ("cases: [{name: a, prompt: x, timeout: -1}]", "--timeout: "),
        ("cases: [{name: a, prompt: x, model: 'scripted:gone'}]", "gone: can't be read"),
        ("prompt: x\ncases: [{name: a}]", "prompt: is no option here"),
        ("cases: [{name: a, prompt: x}, {name: a, prompt: y}]", "2 cases are named 'a'"),
        ("cases: [{name: a, prompt: x, checks: {contain: y}}]", "checks.contain: is no check"),
        ("cases: [{name: a, prompt: x, checks: {regex: '('}}]", r"checks.regex.0: the pattern cannot be read"),
        (
            "cases: [{name: a, prompt: x, checks: {json_schema: {type: 7}}}]",
            "checks.json_schema: .*7 is not valid",
        ),
        ("cases: [{name: a, prompt: x, checks: {script_exit: {lab: '0'}}}]", "checks.script_exit.lab: "),
        ("cases: [{name: a, prompt: x, checks: {status: done}}]", "checks.status: "),
        ("cases: [{name: a, prompt: x, checks: 7}]", "checks: "),
        ("cases: [", "line 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(folder: Path, text: str, why: str) -> None:
    with pytest.raises(BadRequestError, match=f"eval.yaml.*{why}") as wrong:
        read(folder, text)
    assert "\n" not in str(wrong.value)
