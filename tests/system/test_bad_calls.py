"""What a model gets wrong: it is told so readably, and the conversation goes on to its answer."""

import json
import shutil
from typing import Any

from tests.system.conftest import Shared
from tests.system.fleet import wait_until_known
from tests.system.replies import SKILL, Call, call, python

MEGABYTE = 1_000_000


def shown(shared: Shared, *calls: Call, skills: list[str] | None = None) -> list[Any]:
    """What the model was shown of each of these calls of one turn."""
    model = shared.place.script(list(calls), "Done.")
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Try.", model=model, skills=skills))
        messages = fleet.transcript(report.id).messages
    assert (report.status, report.answer) == ("completed", "Done."), report.error
    return [json.loads(message.content or "") for message in messages if message.role == "tool"]


def errors(answers: list[Any]) -> list[str]:
    """The codes; each comes with a sentence and what to do."""
    assert all(answer["message"] and answer["fix"] for answer in answers)
    return [answer["error"] for answer in answers]


def test_malformed_arguments_are_named(shared: Shared) -> None:
    answers = shown(
        shared,
        {"tool": "get_skill", "arguments": '{"skill_name": "lab"'},
        {"tool": "get_skill", "arguments": "[]"},
        call("get_skill"),
        call("run_python_script", skill_name="lab", script=["print(1)"]),
        python("print(1)", timeout=0),
    )
    assert errors(answers) == ["malformed_arguments"] * 5
    assert "not JSON" in answers[0]["message"]
    assert "skill_name" in answers[2]["message"]
    assert "timeout" in answers[4]["message"]


def test_unknown_tools_and_skills_are_answered_with_those_there_are(shared: Shared) -> None:
    answers = shown(shared, call("launch"), call("get_skill", skill_name="nobody"))
    assert errors(answers) == ["unknown_tool", "unknown_skill"]
    assert "run_python_script" in answers[0]["fix"]
    assert "lab" in answers[1]["fix"]


def test_paths_out_of_the_skill_are_refused(shared: Shared) -> None:
    secret = shared.place.folder / "secret.txt"
    secret.write_text("not for models")
    text = SKILL.replace("lab", "linked")
    # lab must not change under the tests that follow
    linked = shared.place.add_skill("linked", {"SKILL.md": text}, links={"link.txt": secret})
    wait_until_known(shared.place, "linked")
    try:
        answers = shown(
            shared,
            call("get_skill", skill_name="../lab"),
            call("read_file_in_skill", skill_name="lab", file_path="../../secret.txt"),
            call("read_file_in_skill", skill_name="lab", file_path=str(secret)),
            call("read_file_in_skill", skill_name="linked", file_path="link.txt"),
            call("run_python_script", skill_name="lab/../lab", script="print(1)"),
        )
    finally:
        shutil.rmtree(linked)
    assert len(errors(answers)) == 5
    assert "not for models" not in json.dumps(answers)


def test_a_skill_that_the_conversation_was_not_given_is_unknown_to_it(shared: Shared) -> None:
    listed, *answers = shown(
        shared,
        call("list_skills"),
        call("get_skill", skill_name="lab"),
        call("read_file_in_skill", skill_name="lab", file_path="SKILL.md"),
        python("print(1)"),
        skills=["another"],
    )
    assert listed == []
    assert errors(answers) == ["unknown_skill"] * 3


def test_a_script_that_never_ends_is_shown_as_timed_out_with_what_it_wrote(shared: Shared) -> None:
    endless = "import time\nprint('so far', flush=True)\nwhile True: time.sleep(1)"
    (run,) = shown(shared, python(endless, timeout=1))
    assert (run["status"], run["stdout"], run["timeout"]) == ("timed_out", "so far\n", 1)


def test_a_script_that_fails_is_shown_with_its_traceback(shared: Shared) -> None:
    failed, syntax = shown(shared, python("import sys; print('out'); sys.exit(3)"), python("print("))
    assert (failed["status"], failed["returncode"], failed["stdout"]) == ("failed", 3, "out\n")
    assert (syntax["status"], "SyntaxError" in syntax["stderr"]) == ("failed", True)


def test_a_script_of_a_megabyte_runs(shared: Shared) -> None:
    script = f"text = '{'x' * MEGABYTE}'\nprint(len(text))"
    (run,) = shown(shared, python(script))
    assert (run["status"], run["stdout"]) == ("succeeded", f"{MEGABYTE}\n")


def test_output_that_is_no_text_is_shown_with_replacements(shared: Shared) -> None:
    (run,) = shown(shared, python(r"import sys; sys.stdout.buffer.write(b'\xff\xfe\0ok')"))
    assert (run["status"], run["stdout"]) == ("succeeded", "��\0ok")


def test_output_without_end_is_cut_and_said_to_be(shared: Shared) -> None:
    (run,) = shown(shared, python("print('a' * 20_000_000)"))
    assert run["status"] == "succeeded"
    assert len(run["stdout"]) < 100_000
    assert "left out" in run["stdout"]
