"""A fleet over TLS: the certificate of redis is checked by every part of it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import require_or_skip
from tests.system.fleet import Place, free_port, running_fleet, wait_for
from tests.system.replies import python

from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import FleetSettings


def certificate(folder: Path) -> tuple[Path, Path]:
    key, cert = folder / "redis.key", folder / "redis.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, cert


def test_a_fleet_talks_to_redis_over_tls_and_checks_its_certificate(place: Place) -> None:
    server = shutil.which("redis-server")
    require_or_skip(bool(server and shutil.which("openssl")), "needs redis-server with TLS, and openssl")
    key, cert = certificate(place.folder)
    port = free_port()
    redis = subprocess.Popen(
        [str(server), "--port", "0", "--tls-port", str(port), "--tls-cert-file", str(cert),
         "--tls-key-file", str(key), "--tls-ca-cert-file", str(cert), "--tls-auth-clients", "no", "--save", ""],
        stdout=subprocess.DEVNULL, cwd=place.folder,
    )  # fmt: skip
    try:
        url = f"rediss://localhost:{port}/0"
        trusted = Place(place.folder, {"SKILLFLEET_REDIS_URL": f"{url}?ssl_ca_certs={cert}"})
        wait_for(lambda: trusted.cli("list").returncode == 0, "redis answers over TLS")
        with running_fleet(trusted, workers=1):
            answered = trusted.cli(
                "submit", "--model", trusted.script([python("print(6 * 7)", "six")], "${six.stdout}"), "?"
            )
        untrusted = Place(place.folder, {"SKILLFLEET_REDIS_URL": url}).cli("list")
    finally:
        redis.kill()
        redis.wait()
    assert (answered.returncode, answered.stdout) == (0, "42\n")
    assert untrusted.returncode == 3
    assert "certificate" in untrusted.stderr.lower()


@pytest.mark.parametrize("given", ["", "?ssl_ca_certs=/x.pem"])
def test_celery_is_told_to_check_the_certificate_where_it_would_not(given: str) -> None:
    app = make_celery(FleetSettings(redis_url=f"rediss://host:6379/0{given}"))
    assert "'ssl_cert_reqs': <VerifyMode.CERT_REQUIRED" in str(app.connection().ssl)
