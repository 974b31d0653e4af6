"""Read, cap, time and kill one run that a supervisor holds: the same for every runtime.

What `supervisor.py` says on its control socket is the whole protocol; whoever starts the process speaks it.
"""

import contextlib
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..wire.execution import OUTPUT_LIMIT_BYTES, TRUNCATION_MARKER, Output, Speaker

CHUNK_BYTES = 65_536
CANCEL_LATENCY_S = 0.05
NEWS_EVERY_S = 0.2
NEWS_BYTES = 4096
"""Of what a script writes, so much is told so often, and nothing before it has run so long."""

KILL_GRACE_S = 10.0
"""How long a supervisor may take to kill everything before it is taken for broken."""

Verdict = Literal["timed_out", "cancelled"]
Hear = Callable[[Output], None]
"""Must return at once: whoever calls it times the run."""


class SupervisorSilentError(Exception):
    """The order to kill a run was not obeyed in time."""


class Stream:
    """One output of a run: its first OUTPUT_LIMIT_BYTES, and how many there were. Owns `descriptor`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.total = 0
        self._kept = bytearray()
        self._told = 0
        os.set_blocking(descriptor, False)

    def read(self, scratch: memoryview) -> bool:
        """Take what is there, `scratch` full at most; False when there is nothing more for now."""
        try:
            count = os.readv(self.descriptor, [scratch])
        except BlockingIOError:
            return False
        room = OUTPUT_LIMIT_BYTES - len(self._kept)
        if room > 0:
            self._kept += scratch[: min(count, room)]
        self.total += count
        return count > 0

    def news(self) -> tuple[str, int]:
        """What was kept since it was last asked for, if long the end of it, and how many bytes were skipped."""
        end = len(self._kept) - _cut_in_two(self._kept)
        begin = max(self._told, end - NEWS_BYTES)
        while begin > self._told and begin < end and self._kept[begin] & 0xC0 == 0x80:
            begin += 1
        skipped, self._told = begin - self._told, end
        return self._kept[begin:end].decode("utf-8", "replace"), skipped

    @property
    def truncated(self) -> bool:
        return self.total > OUTPUT_LIMIT_BYTES

    def text(self) -> str:
        """To be asked once: the bytes are let go, so that they and the text are not all in memory together."""
        kept, self._kept = self._kept, bytearray()
        if self.truncated:
            del kept[len(kept) - _cut_in_two(kept) :]
            kept += (b"" if kept.endswith(b"\n") else b"\n") + TRUNCATION_MARKER.encode() + b"\n"
        return kept.decode("utf-8", "replace")


def _cut_in_two(text: bytearray) -> int:
    """How many bytes at its end begin a character that goes on beyond it."""
    for count, byte in enumerate(reversed(text[-3:]), 1):
        if byte >= 0xC0:
            return count if count < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0


def with_line(text: str, line: str) -> str:
    """`line` appended on a line of its own."""
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n"


@dataclass(frozen=True, slots=True)
class Ended:
    """How the script itself ended. `killed`: by its supervisor, on our order."""

    raw_status: int
    cpu_ms: float
    max_rss_kb: int
    killed: bool


@dataclass(slots=True)
class Capture:
    """What was seen of one run, since `began`.

    `script_pid`: since its exec; `refused`: why it could not be started; `lost`: nobody saw how it ended.
    """

    stdout: Stream
    stderr: Stream
    began: float = field(default_factory=time.monotonic)
    verdict: Verdict | None = None
    script_pid: int | None = None
    startup_ms: float = 0.0
    execution_time_ms: float = 0.0
    refused: str | None = None
    ended: Ended | None = None
    leftover_killed: int = 0
    lost: bool = False
    done: bool = False

    @property
    def clean(self) -> bool:
        """The script ended by itself: its init owes nothing and is owed nothing."""
        return self.done and self.verdict is None and self.refused is None

    def hear(self, line: str) -> None:
        if self.done:  # what follows a late order to kill is not about this run
            return
        word, _, rest = line.partition(" ")
        elapsed_ms = (time.monotonic() - self.began) * 1000
        match word:
            case "started":
                self.script_pid, self.startup_ms = int(rest), elapsed_ms
            case "failed":
                self.refused = rest
            case "ended":
                status, cpu_us, rss_kb, killed = map(int, rest.split())
                self.ended = Ended(status, cpu_us / 1000, rss_kb, bool(killed))
                self.execution_time_ms = elapsed_ms
            case "done":
                self.leftover_killed, self.done = int(rest), True
            case "lost":
                self.lost = True
                self.execution_time_ms = elapsed_ms


class Attendant:
    """Attends one run from its start until nothing of it lives. `hasten` is called before it is to be killed; `hear`
    with what it writes while it runs."""

    def __init__(
        self,
        control: socket.socket,
        capture: Capture,
        kill_grace_s: float = KILL_GRACE_S,
        hasten: Callable[[], None] = lambda: None,
        hear: Hear | None = None,
    ) -> None:
        self._control = control
        self._capture = capture
        self._kill_grace_s = kill_grace_s
        self._hasten = hasten
        self._hear = hear
        self._hear_at = capture.began + NEWS_EVERY_S
        self._speakers: list[tuple[Speaker, Stream]] = [("stdout", capture.stdout), ("stderr", capture.stderr)]
        self._scratch = memoryview(bytearray(CHUNK_BYTES))
        self._said = b""

    def attend(self, timeout_s: float, cancelled: threading.Event) -> None:
        """Fill the capture. Its clock started when it was made.

        Raises:
            SupervisorSilentError: the run was to be killed and may still live.
        """
        capture = self._capture
        deadline = capture.began + timeout_s
        self._control.setblocking(False)
        with selectors.PollSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ, self._listen)
            for stream in (capture.stdout, capture.stderr):
                selector.register(stream.descriptor, selectors.EVENT_READ, stream.read)
            while not (capture.done or capture.lost):
                self._read_ready(selector, deadline)
                deadline = self._pass_verdict(deadline, cancelled)
                if self._hear is not None and not capture.done and time.monotonic() >= self._hear_at:
                    self._tell_news(self._hear)
        for stream in (capture.stdout, capture.stderr):
            while stream.read(self._scratch):
                pass

    def _tell_news(self, hear: Hear) -> None:
        """Of one stream at a time, by turns."""
        for speaker in tuple(self._speakers):
            text, skipped = speaker[1].news()
            if text:
                hear(Output(speaker[0], text, skipped))
                self._hear_at = time.monotonic() + NEWS_EVERY_S
                self._speakers.remove(speaker)
                self._speakers.append(speaker)
                return

    def _read_ready(self, selector: selectors.BaseSelector, deadline: float) -> None:
        patience = min(CANCEL_LATENCY_S, deadline - time.monotonic())
        for key, _ in selector.select(max(patience, 0.0)):
            if not key.data(self._scratch):
                selector.unregister(key.fileobj)

    def _pass_verdict(self, deadline: float, cancelled: threading.Event) -> float:
        """Order the kill once it is due; the time at which the next patience ends."""
        capture = self._capture
        now = time.monotonic()
        if capture.verdict is not None:
            if now >= deadline and not capture.done:
                raise SupervisorSilentError(f"a run was not killed within {self._kill_grace_s:g} s")
            return deadline
        if now < deadline and not cancelled.is_set():
            return deadline
        capture.verdict = "cancelled" if cancelled.is_set() else "timed_out"
        with contextlib.suppress(OSError):  # it may just have ended by itself; the next read says how
            self._control.send(b"k")
        self._hasten()
        return now + self._kill_grace_s

    def _listen(self, scratch: memoryview) -> bool:
        try:
            count = self._control.recv_into(scratch)
        except ConnectionResetError:
            count = 0
        if not count:
            self._capture.lost = not self._capture.done
            return False
        *lines, self._said = (self._said + scratch[:count]).split(b"\n")
        for line in lines:
            self._capture.hear(line.decode("utf-8", "replace"))
        return True
