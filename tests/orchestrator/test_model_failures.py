"""What a provider asks for before the next try, and how long we wait (pure)."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet.llm.failures import BACKOFF_CAP_S, Failure, malformed, of_status, pause_before_retry, retry_after

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-5"}, 0),
        ({"retry-after-ms": "250", "retry-after": "2"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "later"}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1e6) | st.none())
def test_a_pause_is_never_shorter_than_asked_nor_a_backoff_longer_than_its_cap(
    tries: int, chance: float, wait_s: float | None
) -> None:
    failure = Failure(malformed("x").problem, wait_s=wait_s)
    pause = pause_before_retry(failure, tries, 0.5, chance)
    if wait_s:
        assert wait_s <= pause <= wait_s + 1
    else:
        assert 0 < pause <= BACKOFF_CAP_S


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["error", "message", "code", "detail"]), inner),
    max_leaves=6,
)


@given(st.integers(400, 599), st.binary() | JSON.map(lambda document: json.dumps(document).encode()))
def test_no_body_of_an_error_is_too_odd_for_a_problem(status: int, body: bytes) -> None:
    problem = of_status(status, body, {}, NOW).problem
    assert str(status) in problem.message or problem.code == "model_context_exceeded"
    assert problem.fix
    problem.model_dump_json()


def test_half_a_surrogate_pair_in_an_error_can_be_stored() -> None:
    problem = of_status(400, b'{"error": {"message": "half: \\ud83d"}}', {}, NOW).problem
    assert "half: ?" in problem.model_dump_json()
