"""Fleet: the public Python API, the same verbs as the command line."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from pydantic import JsonValue

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import load_settings
from skillfleet_workers.wire.fitness import read_facts
from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.store import ArtifactStore

from .agents import Agents
from .conversations.dead import DeadReport, dead_report
from .conversations.models import Conversation
from .conversations.report import ArtifactReport, Report, report
from .decisions import Decisions
from .errors import BadRequestError, NoFleetError, UnknownConversationError
from .events import Entry, Position
from .history.records import SkillExecution
from .local.access import Access
from .mailing import Mailing
from .outage import Outages
from .plans.models import ExecutionResult
from .recorder import recorded
from .remembering import Remembering
from .running_plans import GivenPlan, PlanOptions, RunningPlans
from .running_skills import RunningSkills, SkillOptions
from .saving import SavedFile, save
from .settings import OrchestratorSettings
from .submitting import Submitting

FLEET_GONE_S = 30.0
"""A conversation that nobody moves is given up by its followers after this long; it stays in the ledger."""

log = logging.getLogger(__name__)


class Fleet(Submitting, Decisions, Mailing, Agents, RunningSkills, RunningPlans, Remembering):
    """Use it as a context manager, on the main thread:

        with Fleet() as fleet:
            print(fleet.result(fleet.submit("What is 6 * 7?")).answer)

    With no fleet running and no SKILLFLEET_REDIS_URL, `submit` starts one of its own that ends with the block.

    Raises (every verb): SettingsError, NoBrokerError; UnknownConversationError for an id, StoreError for files.
    """

    def __init__(
        self, settings: OrchestratorSettings | None = None, *, notice: Callable[[str], None] = log.warning
    ) -> None:
        """`notice`: is told when redis is away, and when it is back."""
        self.settings = settings or load_settings(OrchestratorSettings)
        self._notice = notice
        self._access = Access(self.settings)

    def __enter__(self) -> Self:
        self._access.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._access.close()

    @property
    def lone(self) -> bool:
        """Whether this fleet is our own, and ends with us."""
        return self._access.lone

    def follow(self, conversation_id: str, after: str = "0", *, live: bool = True) -> Iterator[Entry | None]:
        """What happens, from the beginning (or beyond the cursor `after` of any entry), then as it comes, to the end;
        None about every second of silence. `live`: with the live stream, which is bounded and forgets.

        Waits for a redis that is away, about a minute, and goes on where it was: each event once, in order.

        Raises:
            BadRequestError: `after` is no cursor.
            NoFleetError: nobody has moved it for a while, and no orchestrator lives.
        """
        outages, position = self._outages(conversation_id), Position.at(after, live=live)
        all_told = outages.wait_for(partial(self._access.ledger.ended, conversation_id, 0.0))
        quiet_since = time.monotonic()
        while True:
            read = partial(self._access.ledger.entries, conversation_id, position.events, 1.0, position.live)
            entries = outages.attempt(read)
            for entry in map(position.passed, entries or ()):
                quiet_since = time.monotonic()
                yield entry
                if entry.type == "ended":
                    return
            if entries:
                continue
            if all_told and entries == []:  # `after` is the end's
                return
            if entries is None or not outages.attempt(partial(self._is_served, conversation_id, quiet_since)):
                quiet_since = time.monotonic()  # the fleet needs a moment too
            yield None

    def status(self, conversation_id: str) -> Report:
        return report(self._load(conversation_id), time.time())

    def result(self, conversation_id: str) -> Report:
        """The report of the ended conversation; waits for its end, and for a redis that is away, as `follow`."""
        outages, quiet_since = self._outages(conversation_id), time.monotonic()
        while not (ended := outages.attempt(partial(self._access.ledger.ended, conversation_id, 1.0))):
            if ended is None or not outages.attempt(partial(self._is_served, conversation_id, quiet_since)):
                quiet_since = time.monotonic()
        return outages.wait_for(partial(self.status, conversation_id))

    def run_skill(
        self,
        skill: str,
        params: Mapping[str, JsonValue] | None = None,
        *,
        detach: bool = False,
        **options: Unpack[SkillOptions],
    ) -> SkillExecution:
        """What the run of a skill without a model has come to; waits for its end. Of a skill that only puts others
        together the result is {SKILL: result}. Raises: as `submit_skill`, and `result`."""
        conversation_id = self.submit_skill(skill, params, detach=detach, **options)
        self.result(conversation_id)
        return self.skill_execution(conversation_id)

    def run_plan(self, plan: GivenPlan, *, detach: bool = False, **options: Unpack[PlanOptions]) -> ExecutionResult:
        """What the plan has come to; waits for its end. Raises: as `submit_plan`, and `result`."""
        conversation_id = self.submit_plan(plan, detach=detach, **options)
        self.result(conversation_id)
        return self.plan_result(conversation_id)

    def transcript(self, conversation_id: str) -> Conversation:
        return self._load(conversation_id)

    def artifacts(self, conversation_id: str) -> tuple[ArtifactReport, ...]:
        """The files that scripts have brought by now."""
        return self.status(conversation_id).artifacts

    def save(self, conversation_id: str, folder: Path) -> tuple[SavedFile, ...]:
        """They, as FOLDER/CALL/PATH, and what became of each. Raises: BadRequestError, of the folder."""
        return tuple(save(ArtifactStore.of(self.settings), self.artifacts(conversation_id), folder))

    def record(self, conversation_id: str) -> dict[str, Any]:
        """The recording of an ended conversation, and of its children, as `replay:FILE` reads it from a file.

        Raises:
            BadRequestError: it has not ended, or was not submitted with `record`.
        """
        return recorded(conversation_id, self._load, partial(self.follow, live=False)).as_json()

    def list(self, limit: int = 20) -> tuple[Report, ...]:
        """The newest conversations."""
        return tuple(report(conversation, time.time()) for conversation in self._access.ledger.newest(limit))

    def cancel(self, conversation_id: str) -> bool:
        """Ask for the end of it; False when it had ended."""
        return _asked(self._access.ledger.cancel, conversation_id)

    def pause(self, conversation_id: str) -> None:
        """From now on nothing of it is started; calls that run finish, and its deadline waits.

        Raises:
            BadRequestError: it has ended, or is ending.
        """
        self._control(self._access.ledger.pause, conversation_id, "paused")

    def resume(self, conversation_id: str) -> None:
        """What was paused goes on.

        Raises:
            BadRequestError: it has ended, or is ending.
        """
        self._control(self._access.ledger.resume, conversation_id, "resumed")

    def dead(self, limit: int = 20) -> tuple[DeadReport, ...]:
        """The newest calls that were given up because they were lost while they ran."""
        return tuple(dead_report(call) for call in self._access.ledger.dead(limit))

    def dead_call(self, call_id: str) -> DeadReport:
        """
        Raises:
            BadRequestError: no call with this id was given up, or its conversation is gone.
        """
        return dead_report(self._dead(call_id))

    def running(self, role: str | None = None) -> tuple[LiveProcess, ...]:
        """Who lives on this fleet, but for the lone fleets of others."""
        return self._access.running(role)

    def redis_facts(self) -> dict[str, str]:
        """What redis says of itself, as far as this user may ask."""
        return read_facts(self._access.ledger.client)

    def look_after(self) -> bool:
        """Start again what is ours and has died. Whether it was redis."""
        return self._access.look_after()

    def _control(self, ask: Callable[[str], bool], conversation_id: str, what: str) -> None:
        if not _asked(ask, conversation_id):
            status = self.status(conversation_id).status
            raise BadRequestError(
                f"{conversation_id} can't be {what}: it has ended ({status}); "
                f"`skillfleet submit --continue {conversation_id} PROMPT` goes on from it"
            )

    def _outages(self, conversation_id: str) -> Outages:
        kept = f"what it accepted is kept, `skillfleet follow {conversation_id}` shows it"
        outages = Outages(self._notice, self.look_after, kept)
        outages.wait_for(partial(self._load, conversation_id))
        return outages

    def _is_served(self, conversation_id: str, quiet_since: float) -> bool:
        """Or may still be.

        Raises:
            NoFleetError: it will not be.
            UnknownConversationError: redis came back without it.
        """
        self.look_after()
        if not self._access.ledger.client.exists(keys.state(conversation_id)):
            raise UnknownConversationError(conversation_id)
        gone = time.monotonic() - quiet_since > FLEET_GONE_S
        if gone and not self.lone and not self.running("orchestrator"):
            raise NoFleetError(f"no orchestrator is running; {conversation_id} waits for one (`skillfleet up`)")
        return True


def _asked(ask: Callable[[str], bool], conversation_id: str) -> bool:
    try:
        return ask(conversation_id)
    except KeyError:
        raise UnknownConversationError(conversation_id) from None
