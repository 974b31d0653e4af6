"""The way to a fleet: redis, private where no URL is set, and a fleet of our own where none is running."""

import atexit
import time
from contextlib import ExitStack

import redis

from skillfleet_workers.wire.connection import RedisUrls, SettingsError
from skillfleet_workers.wire.fitness import require_database
from skillfleet_workers.wire.presence import LiveProcess, live_processes
from skillfleet_workers.wire.published import Snapshot

from ..app import known_models, make_ledger
from ..catalogs import Catalogs
from ..conversations.asking import unpriced
from ..conversations.limits import Problem
from ..conversations.models import ConversationSpec
from ..conversations.redis_ledger import RedisLedger
from ..errors import BadRequestError, FleetError, NoBrokerError, NoFleetError
from ..llm.adapters import registered
from ..llm.providers import choose
from ..settings import PLAYED, OrchestratorSettings
from .lone import LoneFleet, lone_name
from .redis_server import PrivateRedis
from .uninterrupted import uninterrupted

SKILLS_PATIENCE_S, OWN_PATIENCE_S, LOOK_S = 20.0, 120.0, 0.1
"""A worker that has just been started tells of its skills within seconds; our own, which is known to be
on its way, may take longer on a host that is busy."""


class Access:
    """Open and close it on the main thread."""

    def __init__(self, settings: OrchestratorSettings) -> None:
        self._settings = settings
        self._name = lone_name()
        self._stack = ExitStack()
        self._lone: LoneFleet | None = None
        self._private: PrivateRedis | None = None
        self._opened: RedisLedger | None = None

    def open(self) -> None:
        """
        Raises:
            NoBrokerError: redis can't be used.
        """
        # A signal may fall between the bytecodes of `with` itself: then the end of the process closes it.
        atexit.register(self.close)
        try:
            if self._settings.redis_url is None:
                self._private = PrivateRedis(self._settings)
                self._stack.callback(self._private.close)
                self._private.open()
            self._opened = make_ledger(self._settings)
            require_database(self._opened.client)
        except redis.RedisError as error:
            self.close()
            where = RedisUrls.of(self._settings).safe
            raise NoBrokerError(
                f"cannot use redis at {where}: {error}; start it or set SKILLFLEET_REDIS_URL"
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with uninterrupted():
            try:
                self._stack.close()
            finally:
                self._lone = self._private = self._opened = None
                atexit.unregister(self.close)

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    @property
    def ledger(self) -> RedisLedger:
        if self._opened is None:
            raise FleetError("the fleet is not open: use it as `with Fleet() as fleet:`")
        return self._opened

    @property
    def lone(self) -> bool:
        return self._lone is not None

    def running(self, role: str | None = None) -> tuple[LiveProcess, ...]:
        living = live_processes(self.ledger.client, self._settings.fleet)
        return tuple(p for p in living if not p.lone and role in (None, p.role))

    def serving(self, *specs: ConversationSpec, detach: bool) -> RedisLedger | LoneFleet:
        """Who takes these conversations: the fleet that runs, else one of our own, which may not be where `detach` is
        wanted or a redis was named.

        Raises:
            NoFleetError: there is none.
            SettingsError: one of our own could not ask one of their models.
            BadRequestError: one of our own could not tell what one of them costs.
        """
        if self.running("orchestrator"):
            return self.ledger
        if detach or self._settings.redis_url:
            raise NoFleetError(
                "no fleet is running; start one with `skillfleet up`"
                + ("" if self._settings.redis_url else ", or submit without --detach")
            )
        for model in {spec.model for spec in specs if spec.has_model}:
            if model.startswith(PLAYED) or registered(model):
                continue
            if isinstance(wrong := choose(model, self._settings), Problem):
                raise SettingsError(wrong.message)
        self._require_prices(*specs)
        if self._lone is None:
            self._lone = LoneFleet(self._settings, make_ledger(self._settings, lone=self._name), self._name)
            self._stack.callback(self._lone.close)
            self._lone.start()
        return self._lone

    def skills(self, *, detach: bool, own_patience_s: float = OWN_PATIENCE_S) -> Snapshot:
        """What the workers can run that serve whoever submits now, as soon as one of them has told.

        Raises: as `serving`; NoFleetError: none has told for a while.
        """
        self.serving(detach=detach)
        queue = self._lone.queue if self._lone else ""

        def workers() -> list[LiveProcess]:
            return [one for one in live_processes(self.ledger.client, self._settings.fleet) if one.serves(queue)]

        catalogs = Catalogs(self.ledger.client, self._settings.result_ttl_hours * 3600, workers)
        give_up = time.monotonic() + (own_patience_s if self._lone else SKILLS_PATIENCE_S)
        while (found := catalogs.current()) is None:
            self.look_after()
            if time.monotonic() > give_up:
                raise NoFleetError(
                    f"our own worker has not told which skills it can run; {self._lone.log} says what it does"
                    if self._lone
                    else "no worker has told which skills it can run; start one with `skillfleet worker`"
                )
            time.sleep(LOOK_S)
        return found

    def _require_prices(self, *specs: ConversationSpec) -> None:
        known = known_models(self._settings)
        for spec in specs:
            if problem := unpriced(spec, known.facts(spec.model)):
                raise BadRequestError(f"{problem.message} {problem.fix}")

    def look_after(self) -> bool:
        """Start again what is ours and has died: the private redis, the worker of a fleet of our own. Whether it
        was redis."""
        if self._lone:
            self._lone.look_after()
        return self._private is not None and self._private.look_after()
