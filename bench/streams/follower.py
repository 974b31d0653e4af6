"""Follows streams in a process of its own, through our fleet or with the provider's SDK alone.

`python -m bench.streams.follower BASE_URL` reads an order a line (JSON) from its stdin, and writes what it has seen.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

import openai

from skillfleet.fleet import Fleet

PROMPT = "What time is it?"


@dataclass(slots=True)
class Seen:
    """Seconds from the moment when the provider wrote a piece until it was here: of each first piece, and of all.
    `whole`: texts that came without a gap."""

    first: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)
    whole: int = 0

    def stream(self, text: str, delays: list[float], expected: str) -> None:
        self.first += delays[:1]
        self.all += delays
        self.whole += text == expected


@dataclass(frozen=True, slots=True)
class Order:
    ours: bool
    model: str
    count: int
    pieces: int


@dataclass(slots=True)
class Listener:
    """To one stream."""

    text: str = ""
    delays: list[float] = field(default_factory=list)

    def hear(self, more: str) -> None:
        now = time.time()
        self.text += more
        self.delays += [now - float(stamp) for stamp in more.split()]


def follow_ours(fleet: Fleet, name: str) -> tuple[Listener, str]:
    """The answer is in the message that ends it."""
    listener, answer = Listener(), ""
    for entry in fleet.follow(name):
        if entry is not None and entry.type == "token" and entry.data["at"] == len(listener.text):
            listener.hear(entry.data["text"])
        if entry is not None and entry.type == "ended":
            answer = entry.data["answer"]
    return listener, answer


def follow_sdk(client: openai.OpenAI, model: str, pieces: int) -> tuple[Listener, str]:
    listener = Listener()
    asked = client.chat.completions.create(model=model, messages=[{"role": "user", "content": PROMPT}], stream=True)
    for chunk in asked:
        if chunk.choices and chunk.choices[0].delta.content:
            listener.hear(chunk.choices[0].delta.content)
    return listener, listener.text if len(listener.delays) == pieces else ""


def carry_out(order: Order, fleet: Fleet, client: openai.OpenAI, threads: ThreadPoolExecutor) -> Seen:
    followers: list[Callable[[], tuple[Listener, str]]] = []
    for _ in range(order.count):
        if order.ours:
            name = fleet.submit(PROMPT, model=order.model, detach=True)
            followers.append(lambda name=name: follow_ours(fleet, name))  # type: ignore[misc]
        else:
            followers.append(lambda: follow_sdk(client, order.model, order.pieces))
    seen = Seen()
    for listener, answer in threads.map(lambda follower: follower(), followers):
        seen.stream(listener.text, listener.delays, answer)
    return seen


def main() -> None:
    client = openai.OpenAI(api_key="sk-bench", base_url=sys.argv[1], max_retries=0)
    with Fleet() as fleet, ThreadPoolExecutor(200) as threads:
        print("ready", flush=True)
        for line in sys.stdin:
            seen = carry_out(Order(**json.loads(line)), fleet, client, threads)
            print(json.dumps(asdict(seen)), flush=True)


if __name__ == "__main__":
    main()
