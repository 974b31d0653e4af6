"""Exit codes, and how an error becomes one line."""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType

import redis
import typer

from skillfleet_workers.wire.connection import NO_BROKER_EXIT, SETTINGS_EXIT, SettingsError
from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import is_text
from skillfleet_workers.wire.store import StoreError

from ..conversations.report import Report
from ..errors import BadRequestError, FleetError, HistoryError, NoBrokerError, NoFleetError, UnknownConversationError

ANSWERED = 0
FAILED = 1
USAGE = SETTINGS_EXIT
NO_FLEET = NO_BROKER_EXIT
EXPIRED = 4
INTERRUPTED = 130
NOBODY_READS = 141

EXIT_CODES = """\
Exit codes: 0 answered; 1 failed or cancelled; 2 usage or settings; 3 no broker, fleet, artifact store or history; \
4 expired (a limit was reached); 130 interrupted; 141 nobody reads the output."""

_OF_STATUS = {"completed": ANSWERED, "failed": FAILED, "cancelled": FAILED, "expired": EXPIRED}
_OF_ERROR: list[tuple[type[Exception], int]] = [
    (SettingsError, USAGE),
    (BadRequestError, USAGE),
    (UnknownConversationError, USAGE),
    (NoBrokerError, NO_FLEET),
    (NoFleetError, NO_FLEET),
    (redis.RedisError, NO_FLEET),
    (StoreError, NO_FLEET),
    (HistoryError, NO_FLEET),
    (UnicodeDecodeError, USAGE),
    (FleetError, FAILED),
]
_STDOUT, _STDERR = 1, 2
_told_to_end = threading.Event()


def exit_code(report: Report) -> int:
    return _OF_STATUS.get(report.status, ANSWERED)


def worst_exit_code(reports: Iterable[Report]) -> int:
    """0 when all have answered; else that of a failure, before that of a limit."""
    return min((code for code in map(exit_code, reports) if code), default=ANSWERED)


def complain(line: str) -> None:
    print(f"skillfleet: {printable(' '.join(line.split()))}", file=sys.stderr)


def run(command: Callable[[], object]) -> int:
    """Run the command line; every expected error is one line on stderr and its documented code."""
    if not all(map(is_text, sys.argv)):  # they keep the bytes that can't be decoded as lone surrogates
        complain("an argument is not UTF-8 text")
        return USAGE
    on_ending(_interrupt)
    _spell_out_what_the_terminal_lacks()
    try:
        return _outcome(command)
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        complain(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        _write_nowhere(_STDOUT)
        return FAILED
    except SystemExit as end:
        # What rich and typer make of a reader that went away.
        if isinstance(end.__context__, BrokenPipeError):
            return _nobody_reads()
        raise


def on_ending(handler: Callable[[int, FrameType | None], object]) -> None:
    """For Ctrl-C, a polite kill and a closed terminal; not where we were told to ignore them, as by nohup."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _told_to_end.set()
    raise KeyboardInterrupt


def heed_interrupt() -> None:
    """Python drops what is raised inside a finalizer, such as the one after each import: then raise it again.

    Raises:
        KeyboardInterrupt: a signal has come, and nobody has ended for it.
    """
    if _told_to_end.is_set():
        raise KeyboardInterrupt


def _outcome(command: Callable[[], object]) -> int:
    try:
        result = command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.Exit as done:
        return int(done.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except tuple(kind for kind, _ in _OF_ERROR) as error:
        complain(_in_words(error))
        return next(code for kind, code in _OF_ERROR if isinstance(error, kind))
    except typer.TyperException as wrong:
        complain(f"{wrong.format_message()} (see --help)")
        return USAGE
    return result if isinstance(result, int) else ANSWERED


def _spell_out_what_the_terminal_lacks() -> None:
    """In a Latin-1 locale a ✓ is written as \\u2713."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _in_words(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "what was read is not UTF-8 text"
    return f"redis: {error}" if isinstance(error, redis.RedisError) else str(error)


def _nobody_reads() -> int:
    _write_nowhere(_STDOUT)
    _write_nowhere(_STDERR)
    return NOBODY_READS


def _write_nowhere(stream: int) -> None:
    """What is still buffered would fail once more, aloud, when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
