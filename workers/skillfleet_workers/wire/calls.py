"""The ledger of calls: a worker claims an attempt, proves its life, commits the result; one Lua call each."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

import redis
from pydantic import Field

from . import keys
from .contract import CallRef, Effects, Governing, ScriptTool, UsedSkill, WireModel
from .execution import Artifact, Output
from .lua import lua

Claimed = Literal["claimed", "taken", "paused", "ended"]
Committed = Literal["recorded", "again", "duplicate", "ended"]
HandedBack = Literal["handed_back", "duplicate", "ended"]


class CallResult(WireModel):
    """What the ledger keeps of a call: its status, what the model is shown, what people see of it, and the
    `tools` that it brings: the scripts of a skill that was read. `used`: the skill that it was about; `governing`:
    the skill that it activated; `artifacts`: the files that it brought. Of a child conversation: `usage`, what it and
    its own children have used of models, and how many `calls` they made; `kept`: what it had kept, by the names of
    Limits, for those of which it was not known what they used; `ended`: its terminal status."""

    status: str
    shown: str
    tail: str = ""
    worker: str = ""
    runtime: str = ""
    ms: float = 0.0
    tools: tuple[ScriptTool, ...] = ()
    used: UsedSkill | None = None
    governing: Governing | None = None
    artifacts: tuple[Artifact, ...] = ()
    usage: dict[str, float] = Field(default_factory=dict)
    calls: int = 0
    kept: dict[str, float] = Field(default_factory=dict)
    ended: str = ""

    def told(self, ref: CallRef) -> dict[str, Any]:
        """What followers see of it."""
        unseen = {"shown", "tools", "used", "governing", "artifacts", "usage", "calls", "kept", "ended"}
        used = {"skill": self.used.name, "version": self.used.version} if self.used else {}
        return {"key": ref.key, "attempt": ref.attempt, **self.model_dump(mode="json", exclude=unseen), **used}

    def told_of_failure(self, key: str) -> dict[str, Any]:
        """What followers see where the failure is no result, for the call is run again."""
        return {"key": key, "status": self.status, "text": f"{self.status}, and is run again: {self.tail}"}

    @property
    def forks(self) -> bool:
        """A child conversation is to begin: that waits for no other call of the turn."""
        return self.governing is not None and self.governing.fork


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Where a call stands. `attempt` is the newest one started; `beat_at` its last proof of life, in seconds
    since the epoch by redis' clock; `effects` what its worker said of it, None: nothing. `failed` is the newest
    attempt whose script failed and that is to be followed by another one, 0: none; `failures` how many there were.
    `returned` is the newest attempt that its worker ended and handed back, 0: none; `lost` the newest one whose run
    its worker lost, or could not begin, and `said` why. `sent_at`: when it was last given a place in the tool queue,
    0: it waits for one. `route`: which workers it is for, empty: all. `begun`: the id of the child conversation that
    works on it, once it was accepted; `child`: what the call has come to by its end. `decision`: what a person has
    said of it, empty: nothing; JSON that is the orchestrator's own. `posted`: what became of the message that it
    sends, or of its subscription, likewise.
    """

    attempt: int
    beat_at: float
    worker: str
    result: CallResult | None
    effects: Effects | None = None
    failed: int = 0
    failures: int = 0
    returned: int = 0
    lost: int = 0
    said: str = ""
    sent_at: float = 0.0
    begun: str = ""
    child: CallResult | None = None
    route: str = ""
    decision: str = ""
    posted: str = ""


def parse_records(fields: dict[str, str]) -> dict[str, CallRecord]:
    """The calls hash, as records by call key."""
    found: dict[str, CallRecord] = {}
    for key in {field.rpartition(":")[0] for field in fields}:
        result, child = fields.get(f"{key}:result"), fields.get(f"{key}:child")
        found[key] = CallRecord(
            attempt=int(fields.get(f"{key}:attempt", 0)),
            beat_at=int(fields.get(f"{key}:beat", 0)) / 1000,
            worker=fields.get(f"{key}:worker", ""),
            result=CallResult.model_validate_json(result) if result else None,
            effects=cast(Effects | None, fields.get(f"{key}:effects") or None),
            failed=int(fields.get(f"{key}:failed", 0)),
            failures=int(fields.get(f"{key}:failures", 0)),
            returned=int(fields.get(f"{key}:returned", 0)),
            lost=int(fields.get(f"{key}:lost", 0)),
            said=fields.get(f"{key}:said", ""),
            sent_at=int(fields.get(f"{key}:sent", 0)) / 1000,
            begun=fields.get(f"{key}:begun", ""),
            child=CallResult.model_validate_json(child) if child else None,
            route=fields.get(f"{key}:route", ""),
            decision=fields.get(f"{key}:decision", ""),
            posted=fields.get(f"{key}:posted", ""),
        )
    return found


class CallLedger:
    """Raises redis.RedisError when redis cannot be reached."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._claim, self._beat, self._progress, self._commit, self._hand_back = (
            client.register_script(lua(__package__, f"call_{name}"))
            for name in ("claim", "beat", "progress", "commit", "hand_back")
        )

    def claim(self, ref: CallRef, worker: str, effects: Effects | None = None) -> Claimed:
        """`taken`: this attempt (or a later one) was started before, or has its result; leave it alone.
        `paused`: nothing of the conversation may start now; when it goes on, the call is sent again.
        `ended`: the conversation does not wait for it (any more). `effects`: what may be done with the call if this
        worker dies, where the worker knows better than the TaskSpec."""
        args: list[str | int] = [
            ref.key,
            ref.attempt,
            worker,
            secrets.token_hex(8),
            effects or "",
            ref.conversation_id,
        ]
        return cast(Claimed, self._claim(keys=_keys(ref), args=args))

    def beat(self, refs: Iterable[CallRef]) -> list[CallRef]:
        """Prove that these calls live; return those that are no longer wanted."""
        refs = list(refs)
        wanted = [self._beat(keys=_keys(ref), args=[ref.key, ref.attempt]) for ref in refs]
        return [ref for ref, answer in zip(refs, wanted, strict=True) if not answer]

    def progress(self, ref: CallRef, text: str) -> bool:
        """Tell those who follow the conversation what the call is busy with; whether it is still wanted."""
        return self._tell(ref, "progress", {"key": ref.key, "text": text})

    def output(self, ref: CallRef, output: Output) -> bool:
        """Tell them what its script has written; whether it is still wanted."""
        return self._tell(ref, "output", output.told(ref.key))

    def commit(self, ref: CallRef, result: CallResult, retries: int = 0) -> Committed:
        """First writer wins, doing it again changes nothing, and what is not wanted is counted. The last call of a
        turn to come in makes the conversation due now.

        `retries`: how many failures of this call are followed by a new attempt; then the answer is `again`, and
        nothing is recorded.
        """
        told, failure = json.dumps(result.told(ref)), json.dumps(result.told_of_failure(ref.key))
        args: list[str | int] = [
            ref.key, ref.attempt, result.model_dump_json(), told, retries, failure, int(result.forks)
        ]  # fmt: skip
        return cast(Committed, self._commit(keys=_keys(ref), args=args))

    def hand_back(self, ref: CallRef, lost: str = "") -> HandedBack:
        """This attempt has no result: what comes next is decided at once, as its effects allow. Doing it again
        changes nothing.

        `lost`: why; it counts as if its worker had died. Empty: its worker has to go and has ended it, which counts
        as nothing."""
        kind, told = handed_back(ref, lost)
        args: list[str | int] = [ref.key, ref.attempt, kind, json.dumps(told), lost]
        return cast(HandedBack, self._hand_back(keys=_keys(ref), args=args))

    def _tell(self, ref: CallRef, kind: str, told: dict[str, Any]) -> bool:
        state, calls, _ = _keys(ref)
        live = keys.live(ref.conversation_id)
        return bool(
            self._progress(
                keys=[state, calls, live], args=[ref.key, ref.attempt, kind, json.dumps(told, ensure_ascii=False)]
            )
        )


def handed_back(ref: CallRef, lost: str) -> tuple[Literal["returned", "lost"], dict[str, Any]]:
    """What followers see of it."""
    told: dict[str, Any] = {"key": ref.key, "attempt": ref.attempt}
    return ("lost", told | {"text": lost}) if lost else ("returned", told)


def _keys(ref: CallRef) -> list[str]:
    name = ref.conversation_id
    return [keys.state(name), keys.calls(name), keys.events(name)]
