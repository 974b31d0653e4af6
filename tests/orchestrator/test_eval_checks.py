"""Checks of cases, and how their results are written."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, finished, says

from skillfleet.conversations.limits import Divergence
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ToolFinished
from skillfleet.conversations.report import report
from skillfleet.evals.cases import Case, Checks
from skillfleet.evals.checks import failed_checks
from skillfleet.evals.results import as_json, as_junit, case_result
from skillfleet.submission import Submission

PYTHON = call("run_python_script", "a", skill_name="lab", script="print(42)")
CHART = call("run_skill_script", "b", skill_name="charts", script="scripts/chart.py")


def exited(key: str, code: int) -> ToolFinished:
    return finished(key, json.dumps({"status": "succeeded", "returncode": code}))


@pytest.fixture
def ended() -> Conversation:
    """The script of `charts` exits 3, and then 0."""
    first = (exited("1.0", 0), exited("1.1", 3))
    again = (asks(CHART, call("gone", "c")), exited("2.0", 0))
    diverged = (Divergence(turn=1, place="messages[1].content", then="a", now="b"),)
    answered = after(awaiting_model(), asks(PYTHON, CHART), *first, *again, says('{"n": 42, "text": "<forty>"}'))
    return answered.model_copy(update={"divergences": diverged})


def failures(ended: Conversation, **checks: Any) -> tuple[str, ...]:
    return failed_checks(Checks.model_validate(checks), report(ended, NOW), ended)


@pytest.mark.parametrize(
    "checks",
    [
        {},
        {"contains": ["42", "forty"]},
        {"not_contains": "fifty"},
        {"regex": r'"n": \d+'},
        {"json_schema": {"type": "object", "required": ["n"]}},
        {"script_exit": {"charts": 0, "run_python_script": 0, "charts/scripts/chart.py": 0}},
        {"tools_used": ["run_python_script", "run_skill_script"], "tools_not_used": "skill"},
    ],
    ids=lambda checks: next(iter(checks), "status"),
)
def test_what_is_as_it_has_to_be_passes(ended: Conversation, checks: dict[str, Any]) -> None:
    assert failures(ended, **checks) == ()


@pytest.mark.parametrize(
    ("checks", "found"),
    [
        ({"status": "failed"}, "status: it is completed, not failed"),
        ({"contains": "fifty"}, "contains: no 'fifty'; the answer is '{\"n\": 42"),
        ({"not_contains": ["42"]}, "not_contains: there is '42'"),
        ({"regex": "^42"}, "regex: nothing fits '^42'"),
        ({"json_schema": {"required": ["m"]}}, "json_schema: 'm' is a required property"),
        ({"script_exit": {"charts": 3}}, "script_exit: charts exited 0, not 3"),
        ({"script_exit": {"bikes": 0}}, "script_exit: bikes was not called"),
        ({"script_exit": {"gone": 0}}, "script_exit: gone did not run"),
        ({"tools_used": "gone"}, "tools_used: not gone; used were run_python_script, run_skill_script"),
        ({"tools_not_used": "gone"}, "tools_not_used: gone was called"),
        ({"no_divergence": True}, 'no_divergence: turn 1, messages[1].content: it was "a" and is "b"'),
    ],
    ids=lambda given: "",
)
def test_a_check_that_fails_tells_what_was_found(ended: Conversation, checks: dict[str, Any], found: str) -> None:
    (failure,) = failures(ended, **checks)
    assert failure.startswith(found)


def test_a_pattern_that_takes_endless_fails_its_check(ended: Conversation) -> None:
    long = ended.model_copy(update={"answer": "a" * 40 + "!"})
    (failure,) = failures(long, regex="(a|aa|aaa)+$")
    assert "took too long" in failure


def test_results_are_one_object_and_valid_junit(ended: Conversation) -> None:
    submission = Submission.of({"prompt": "hi"})
    good = case_result(Case("good", submission, Checks()), report(ended, NOW), ended)
    odd = Checks(contains=("& ]]> <b>",))
    bad = case_result(Case("bad \x1b<", submission, odd), report(ended, NOW), ended)

    told = as_json([good, bad])
    assert (told["passed"], told["failed"], [case["passed"] for case in told["cases"]]) == (1, 1, [True, False])
    (suite,) = ElementTree.fromstring(as_junit("evals/eval.yaml", [good, bad]))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    first, second = suite
    assert (first.get("classname"), first.get("name"), list(first)) == ("eval", "good", [])
    assert second.get("name") == "bad \ufffd<"
    assert "& ]]> <b>" in (second[0].text or "")
