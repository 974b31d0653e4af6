"""What documents say twice must agree with the code."""

import inspect
import re
import subprocess
from pathlib import Path

import pytest

from skillfleet.cli.exits import EXIT_CODES
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.wire import keys

ROOT = Path(__file__).parents[2]


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("no git checkout here")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def settings_names() -> set[str]:
    fields = {**OrchestratorSettings.model_fields, **WorkerSettings.model_fields}
    return {str(field.validation_alias) for field in fields.values()}


@pytest.mark.parametrize("document", [".env.example", "README.md"])
def test_every_setting_is_documented(document: str) -> None:
    text = (ROOT / document).read_text()
    assert not {name for name in settings_names() if name not in text}


def test_every_key_is_documented() -> None:
    text = (ROOT / "docs/keys.md").read_text()
    functions = [name for name, it in inspect.getmembers(keys, inspect.isfunction) if it.__module__ == keys.__name__]
    functions += [name for name in vars(keys.FleetKeys) if not name.startswith("_") and name != "fleet"]
    assert not {name for name in functions if f"`{name}`" not in text}


def test_the_readme_tells_the_exit_codes_of_the_help() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    for code in re.findall(r"(\d+) ([a-z][^;(.]+)", EXIT_CODES):
        assert f"| {code[0]} | {code[1].strip()}" in text


def test_no_file_names_a_package_registry() -> None:
    hosts = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"))]
    for path in tracked_files():
        text = path.read_bytes()
        assert not [host for host in hosts if host.encode() in text], path


def test_no_file_names_a_place_of_one_machine() -> None:
    for path in tracked_files():
        if path.suffix in (".py", ".md", ".yml", ".yaml", ".toml", ".sh", "") and path != Path(__file__):
            assert "/root/" not in path.read_text(errors="replace"), path


def test_every_link_between_documents_leads_to_a_file() -> None:
    for document in (path for path in tracked_files() if path.suffix == ".md"):
        if document.is_relative_to(ROOT / "tests"):
            continue
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text())
        assert not [link for link in links if not (document.parent / link).exists()], document
