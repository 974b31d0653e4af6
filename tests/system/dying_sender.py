"""An orchestrator that dies when a turn is stored, and what it sends is not out yet."""

import os
import signal

from skillfleet.app import make_driver, make_presence
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.schedule import lease_s
from skillfleet.settings import OrchestratorSettings
from skillfleet.subagents.mailbox import AgentMessage, Delivered
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.contract import CallRef


class Dying(RedisLedger):
    def deliver(self, message: AgentMessage, root: str, call: CallRef | None = None) -> Delivered:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def main() -> None:
    settings = load_settings(OrchestratorSettings)
    ledger = Dying(RedisUrls.of(settings), settings.fleet, lease_s=lease_s(settings.recovery_s))
    make_presence(settings, ledger.client).start()
    make_driver(settings, ledger).run()


if __name__ == "__main__":
    main()
