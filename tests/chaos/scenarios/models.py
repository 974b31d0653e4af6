"""A provider in its worst mood, over HTTP."""

import json
import random
import threading
from collections import defaultdict
from typing import Any

from tests.model_answers import Answer, Completion, Hang, Raw, failure
from tests.model_server import KEY, ModelServer
from tests.system.fleet import wait_for

from ..side import ANSWER, CALLS
from .scenario import Verdict
from .siege import besieged

NOT_ARGUMENTS = '{"skill_name": "lab", "script": '
HANGS, TIMEOUT_S = "hang", 6.0

PASSING: tuple[Answer, ...] = (
    failure(429, "slow down", retry_after_ms="50"),
    failure(500, "oops"),
    failure(503, "overloaded"),
    Raw(b'{"choices": [', missing=500),
    Raw(b"", missing=500),
)
MALFORMED: tuple[Answer, ...] = (Raw(b"not json"), Completion(), Raw(b'{"object": "chat.completion"}'))
"""Asked again once only."""


class MoodyProvider:
    """Before each right reply up to three faults; every call has the same id, and the first is asked for with
    arguments that are no JSON, and once more."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._lock = chance, threading.Lock()
        self._faults: dict[tuple[str, int], list[Answer]] = defaultdict(self._some)
        self.served = 0

    def _some(self) -> list[Answer]:
        some = self._chance.sample(PASSING, self._chance.randint(0, 2)) + self._chance.sample(MALFORMED, 1)
        return some[: self._chance.randint(0, 3)]

    def answer(self, request: dict[str, Any]) -> Answer:
        who = next(message["content"] for message in request["messages"] if message["role"] == "user")
        said = sum(message["role"] == "assistant" for message in request["messages"])
        if HANGS in who:
            return Hang()
        with self._lock:
            if faults := self._faults[who, said]:
                self.served += 1
                return faults.pop()
        return self._right(said, request["messages"])

    def _right(self, said: int, messages: list[dict[str, Any]]) -> Completion:
        if said == 0:
            return Completion(calls=(("call_1", "run_python_script", NOT_ARGUMENTS),), delay_s=0.2)
        if said <= CALLS:
            arguments = json.dumps({"skill_name": "lab", "script": f"print({said})"})
            return Completion(calls=(("call_1", "run_python_script", arguments),), delay_s=0.2)
        shown = [message["content"] for message in messages if message["role"] == "tool"]
        told = [number for number in range(1, CALLS + 1) if f'"{number}\\n' in shown[number]]
        return Completion("-".join(map(str, told)), delay_s=0.2)


def moody_model(chance: random.Random, full: bool) -> Verdict:
    """429, 500, cut and malformed replies, the same call id every time; some are never answered, and expire."""
    provider = MoodyProvider(chance)
    with ModelServer(provider.answer) as server:
        env = {"LLM_API_KEY": KEY, "LLM_API_BASE_URL": server.base_url, "LLM_MODEL_NAME": "moody"}
        with besieged(orchestrators=2, workers=1, envs=[env]) as siege, siege.side.fleet() as fleet:
            asked = [fleet.submit(f"{number}?", detach=True) for number in range(60 if full else 10)]
            hung = [fleet.submit(f"{HANGS} {n}", timeout=TIMEOUT_S, detach=True) for n in range(3)]
            siege.side.watch(asked + hung)
            if full:
                wait_for(siege.side.asking, "models are asked")
                siege.crew.kill(siege.crew.of("orchestrator")[0])
            wait_for(siege.all_ended, "all have ended", 90)
            reports = {name: fleet.status(name) for name in asked + hung}
        wrong = [one for name in asked if (one := reports[name]).answer != ANSWER or len(one.tool_calls) != CALLS + 1]
        wrong += [one for name in hung if (one := reports[name]).status != "expired"]
        siege.verdict.violations += [str(one.as_json()) for one in wrong]
        siege.verdict.facts.append(f"{provider.served} faults; {len(asked)} asked, {len(hung)} hung")
    return siege.verdict
