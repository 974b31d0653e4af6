"""A file of JSON lines: read whole before anything is submitted, and told by line what is wrong with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillfleet.batch import read_batch
from skillfleet.errors import BadRequestError


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "batch.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def keys(path: Path, **more: Any) -> list[str | None]:
    return [one.idempotency_key for one in read_batch(path, **more)]


def test_each_line_is_a_conversation_and_options_hold_where_it_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, {"prompt": "a"}, "", {"prompt": "b", "timeout": 5, "skills": ["x"]})
    first, second = read_batch(path, {"timeout": 60.0, "max_turns": 3})
    assert (first.prompt, first.timeout, first.max_turns, first.skills) == ("a", 60.0, 3, None)
    assert (second.prompt, second.timeout, second.max_turns, second.skills) == ("b", 5, 3, ("x",))


def test_the_same_file_gives_the_same_keys_and_each_line_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, {"prompt": "a"}, {"prompt": "a"}, {"prompt": "b"})
    first = keys(path)
    assert len(set(first)) == 3
    assert keys(path) == first
    longer = written(tmp_path, {"prompt": "new"}, {"prompt": "b"}, {"prompt": "a"}, {"prompt": "a"})
    assert set(first) < set(keys(longer))


def test_under_another_name_or_other_options_it_is_another_batch(tmp_path: Path) -> None:
    path = written(tmp_path, {"prompt": "a"})
    assert len({*keys(path), *keys(path, name="tuesday"), *keys(path, defaults={"max_turns": 2})}) == 3


def test_a_key_of_the_line_is_kept(tmp_path: Path) -> None:
    assert keys(written(tmp_path, {"prompt": "a", "idempotency_key": "mine"})) == ["mine"]


def test_two_tenants_may_have_the_same_key(tmp_path: Path) -> None:
    lines = [{"prompt": "a", "idempotency_key": "k", "tenant": tenant} for tenant in ("ann", "bob")]
    assert keys(written(tmp_path, *lines)) == ["k", "k"]
    named = written(tmp_path, {"prompt": "a", "idempotency_key": "k"}, lines[0] | {"tenant": "default"})
    with pytest.raises(BadRequestError, match="line 2: has the idempotency_key of line 1"):
        read_batch(named)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        pytest.param(['{"prompt": "a"}', "{"], "line 2: is not JSON", id="no JSON"),
        pytest.param(["", "", "[1]"], "line 3: is not a JSON object", id="no object"),
        pytest.param([f"{'[' * 100_000}"], "line 1: is not JSON", id="too deep"),
        pytest.param([{"prompt": "a"}, {"promt": "b"}], "line 2: the prompt: Field required", id="no prompt"),
        pytest.param([{"prompt": " "}], "line 1: the prompt is empty", id="empty prompt"),
        pytest.param([{"prompt": "a", "colour": 1}], "line 1: colour: ", id="unknown field"),
        pytest.param(['{"prompt": "a", "\\ud800": 1}'], "line 1: a field's name: ", id="half a character in a name"),
        pytest.param([{"prompt": 7}], "line 1: the prompt: ", id="no text"),
        pytest.param(['{"prompt": "\\ud800"}'], "line 1: the prompt holds half a surrogate", id="half a character"),
        pytest.param([{"prompt": "a", "timeout": 0}], "line 1: --timeout: ", id="no time"),
        pytest.param([{"prompt": "a", "max_turns": True}], "line 1: --max-turns: ", id="no number"),
        pytest.param([{"prompt": "a", "model": "scripted:no.json"}], "line 1: --model: no.json", id="no script"),
        pytest.param(
            [{"prompt": "a", "idempotency_key": ""}, {"prompt": "a", "idempotency_key": "k" * 201}],
            "line 2: --idempotency-key needs 1 to 200 characters", id="long key",
        ),
        pytest.param(
            [{"prompt": "a", "idempotency_key": "k"}, "", {"prompt": "b", "idempotency_key": "k"}],
            "line 3: has the idempotency_key of line 1", id="one key twice",
        ),
        pytest.param(["", " "], "has no lines", id="empty file"),
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_is_named_by_its_number(tmp_path: Path, lines: list[Any], told: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        read_batch(written(tmp_path, *lines))
    assert told in str(refused.value)
    assert "batch.jsonl" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bytes_that_are_no_text_are_told_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n{"prompt": "caf\xe9"}\n')
    with pytest.raises(BadRequestError, match="line 2: is not JSON"):
        read_batch(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match=r"nowhere\.jsonl: No such file"):
        read_batch(tmp_path / "nowhere.jsonl")
