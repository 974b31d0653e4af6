"""What people are told of a build while it goes on."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.workers.environment_checks import built, output, wait_until
from tests.workers.skill_folders import write_skill
from tests.workers.slow_skill import SlowSkill

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.environments.progress import LINE_CHARS, LINES_A_SECOND, MOST_LINES, Allowance, GrowingLog
from skillfleet_workers.progress import Teller
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.contract import CallRef


def test_lines_come_while_the_build_goes_on(tmp_path: Path) -> None:
    slow, told = SlowSkill(tmp_path), list[str]()
    environments = Environments(tmp_path / "environments")
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(environments.interpreter_for, slow.skill, None, None, told.append)
        wait_until(lambda: any("Building demo" in line for line in told) or call.done())
        assert not call.done(), call.result()
        slow.go.touch()
        built(call.result(60))
    assert told[0] == "building the environment of 'calc' (requirements.txt)"
    assert any("+ demo==1.0" in line for line in told)
    assert told[-1].startswith("the environment is ready after ")
    assert not [line for line in told if str(tmp_path / "environments") in line or "\x1b" in line]
    again = list[str]()
    built(environments.interpreter_for(slow.skill, None, None, again.append))
    assert again == []


def test_who_waits_for_anothers_build_is_told_so(tmp_path: Path) -> None:
    slow, told = SlowSkill(tmp_path), list[str]()
    environments = Environments(tmp_path / "environments")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(environments.interpreter_for, slow.skill)
        wait_until(lambda: slow.builders)
        second = threads.submit(environments.interpreter_for, slow.skill, None, None, told.append)
        wait_until(lambda: told)
        slow.go.touch()
        assert built(first.result(60)) == built(second.result(60))
    assert told == ["waiting for the same environment, which another call builds"]


def test_an_empty_environment_is_not_worth_a_word(tmp_path: Path) -> None:
    told = list[str]()
    built(Environments(tmp_path / "e").interpreter_for(write_skill(tmp_path / "calc", {}), None, None, told.append))
    assert told == []


def test_no_more_is_told_than_can_be_read() -> None:
    at_once = Allowance(0.0)
    assert sum(at_once.grants(0.0) for _ in range(1000)) == LINES_A_SECOND
    assert sum(at_once.grants(0.5) for _ in range(1000)) == LINES_A_SECOND // 2
    assert sum(at_once.grants(1000.0) for _ in range(1000)) == LINES_A_SECOND
    for_hours = Allowance(0.0)
    assert sum(for_hours.grants(float(second)) for second in range(10_000)) == MOST_LINES


def test_lines_are_told_whole_and_short() -> None:
    told = list[str]()
    file = BytesIO(b"one\n\n/tmp/x/two \xff\nthr")
    growing = GrowingLog(file, told.append, ("/tmp/x/",))
    growing.look(last=True)
    assert told == ["one", "two \ufffd"]
    file.seek(0, 2)
    file.write(b"ee\n" + b"a" * 1000 + b"\n")
    file.seek(-1004, 2)
    growing.look(last=True)
    assert told[2] == "three"
    assert len(told[3]) == LINE_CHARS


def test_a_redis_that_is_gone_is_asked_once_and_the_build_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow = SlowSkill(tmp_path)
    slow.go.touch()
    gone = redis.Redis(port=1, retry=Retry(NoBackoff(), 0))
    teller = Teller(CallLedger(gone), CallRef(conversation_id="c1", turn=1, index=0))
    interpreter = Environments(tmp_path / "environments").interpreter_for(slow.skill, None, None, teller)
    assert output(interpreter, "import demo; print(demo.ANSWER)") == "42"
    assert [record.name for record in caplog.records] == ["skillfleet_workers.progress"]
