"""A fleet over TLS: the certificate of redis is checked by every part of it, and theirs by redis; its user has the
least rights that are documented."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from tests.conftest import require_or_skip
from tests.system.fleet import Place, free_port, running_fleet, wait_for
from tests.system.redis_processes import answers, configured
from tests.system.replies import python

from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
PASSWORD = "least-rights"
USER = "skillfleet"


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Papers:
    """A certificate authority of our own, and what it has signed: for the server and for its clients."""

    folder: Path

    @classmethod
    def made_in(cls, folder: Path) -> "Papers":
        folder.mkdir()
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=our own CA",
                "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
        (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
        for who in ("server", "client"):
            openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={who}",
                    "-keyout", f"{who}.key", "-out", f"{who}.csr")  # fmt: skip
            openssl(folder, "x509", "-req", "-in", f"{who}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2",
                    "-CAcreateserial", "-extfile", "names", "-out", f"{who}.crt")  # fmt: skip
        return cls(folder)

    @property
    def options(self) -> str:
        """Of a URL."""
        path = self.folder
        return f"ssl_ca_certs={path}/ca.crt&ssl_certfile={path}/client.crt&ssl_keyfile={path}/client.key"

    @property
    def server(self) -> str:
        """Lines of a configuration, which ask clients for a certificate too."""
        path = self.folder
        return (
            f"tls-cert-file {path}/server.crt\ntls-key-file {path}/server.key\ntls-ca-cert-file {path}/ca.crt\n"
            "tls-auth-clients yes\ntls-replication yes\n"
        )


def documented_rule() -> str:
    (rule,) = re.findall(r"^user skillfleet .*(?:\n  .*)*", OPERATIONS.read_text(), re.MULTILINE)
    return " ".join(str(rule).split()).replace(">SECRET", f">{PASSWORD}")


@contextmanager
def guarded(place: Place, settings: str) -> Iterator[int]:
    """The port of a redis with TLS and papers, and these lines."""
    require_or_skip(bool(shutil.which("openssl") and shutil.which("redis-server")), "needs openssl, redis with TLS")
    papers, port = Papers.made_in(place.folder / "papers"), free_port()
    with configured(place.folder / "redis", f"port 0\ntls-port {port}\n{papers.server}{settings}"):
        yield port


def test_a_conversation_needs_no_more_rights_than_are_documented_and_works_over_tls(place: Place) -> None:
    rules = f"user default off\n{documented_rule()}\nacllog-max-len 100\nuser admin on >admin-pw ~* &* +@all\n"
    with guarded(place, rules) as port:
        options = Papers(place.folder / "papers").options
        url = f"rediss://{USER}:{PASSWORD}@localhost:{port}/0"
        with RedisUrls(f"rediss://admin:admin-pw@localhost:{port}/0?{options}").client() as admin:
            wait_for(lambda: answers(admin), "redis answers over TLS")
            trusted = Place(place.folder, {"SKILLFLEET_REDIS_URL": f"{url}?{options}"})
            model = trusted.script(
                [python("print(6 * 7)", "six"), python(f"print('{'x' * 70_000}')")], "${six.stdout}"
            )
            with running_fleet(trusted, workers=1):
                answered = trusted.cli("submit", "--model", model, "?", "--idempotency-key", "once")
                told = [trusted.cli(*verb).returncode for verb in (("list",), ("doctor",), ("dead", "list"))]
            denied = admin.acl_log()
        without_ca = Place(place.folder, {"SKILLFLEET_REDIS_URL": url}).cli("list")
    assert (answered.returncode, answered.stdout) == (0, "42\n"), answered.stderr
    assert {entry["object"] for entry in denied} <= {"config|get"}
    assert told == [0, 0, 0]
    assert without_ca.returncode == 3
    assert "certificate" in without_ca.stderr.lower()


def test_the_documented_user_may_neither_read_nor_break_what_is_not_skillfleets(place: Place) -> None:
    port = free_port()
    with configured(place.folder / "redis", f"port {port}\n{documented_rule()}\n"):
        client = redis.Redis(port=port, username=USER, password=PASSWORD)
        other = redis.Redis(port=port)
        with client, other:
            wait_for(lambda: answers(other), "redis answers")
            other.set("somebody:else", "1")
            for command in (["GET", "somebody:else"], ["FLUSHALL"], ["CONFIG", "SET", "dir", "/tmp"], ["KEYS", "*"],
                            ["SHUTDOWN"], ["REPLICAOF", "127.0.0.1", "1"]):  # fmt: skip
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.execute_command(*command)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("given", ["", "?ssl_ca_certs=/x.pem"])
def test_celery_is_told_to_check_the_certificate_where_it_would_not(given: str) -> None:
    app = make_celery(FleetSettings(redis_url=f"rediss://host:6379/0{given}"))
    assert "'ssl_cert_reqs': <VerifyMode.CERT_REQUIRED" in str(app.connection().ssl)
