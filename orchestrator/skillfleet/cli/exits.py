"""Exit codes, and how an error becomes one line."""

import sys
from collections.abc import Callable

import redis
import typer

from skillfleet_workers.wire.connection import SettingsError

from ..conversations.report import Report
from ..errors import BadRequestError, FleetError, NoBrokerError, NoFleetError, UnknownConversationError

ANSWERED = 0
FAILED = 1
USAGE = 2
NO_FLEET = 3
EXPIRED = 4
INTERRUPTED = 130

EXIT_CODES = """\
Exit codes: 0 answered; 1 failed or cancelled; 2 usage or settings; 3 no broker or no fleet; \
4 expired (a limit was reached); 130 interrupted."""

_OF_STATUS = {"completed": ANSWERED, "failed": FAILED, "cancelled": FAILED, "expired": EXPIRED}
_OF_ERROR: list[tuple[type[Exception], int]] = [
    (SettingsError, USAGE),
    (BadRequestError, USAGE),
    (UnknownConversationError, USAGE),
    (NoBrokerError, NO_FLEET),
    (NoFleetError, NO_FLEET),
    (redis.RedisError, NO_FLEET),
    (FleetError, FAILED),
]


def exit_code(report: Report) -> int:
    return _OF_STATUS.get(report.status, ANSWERED)


def complain(line: str) -> None:
    print(f"skillfleet: {' '.join(line.split())}", file=sys.stderr)


def run(command: Callable[[], object]) -> int:
    """Run the command line; every expected error is one line on stderr and its documented code."""
    try:
        result = command()
    except typer.Exit as done:
        return int(done.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except tuple(kind for kind, _ in _OF_ERROR) as error:
        prefix = "redis: " if isinstance(error, redis.RedisError) else ""
        complain(f"{prefix}{error}")
        return next(code for kind, code in _OF_ERROR if isinstance(error, kind))
    except typer.TyperException as wrong:
        complain(f"{wrong.format_message()} (see --help)")
        return USAGE
    return result if isinstance(result, int) else ANSWERED
