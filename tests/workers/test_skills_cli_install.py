"""skills install and remove: where skills come from, what is written down, and that a refusal leaves nothing."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.workers.packed import GOOD, SKILL_MD, good_tar, good_zip, tar_gz, tar_member
from tests.workers.skill_folders import write_skill
from tests.workers.skills_commands import Workplace, workplace

from skillfleet_workers.skills.install_sources import parse_source
from skillfleet_workers.skills.installing import WORKSHOP, install, placed
from skillfleet_workers.skills.members import RefusedError

FILES = {"SKILL.md": SKILL_MD, "scripts/read.py": "print('read')\n"}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workplace:
    return workplace(tmp_path, monkeypatch, capsys)


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.invalid", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path) -> str:
    """Two skills, the tag v1, and after it a change and a link out on the branch `bad`; its URL."""
    write_skill(folder / "skills/pdf-tools", FILES)
    write_skill(folder / "skills/other", {"SKILL.md": SKILL_MD.replace("pdf-tools", "other")})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "tag", "v1")
    (folder / "skills/pdf-tools/later.md").touch()
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "second")
    git(folder, "checkout", "-q", "-b", "bad")
    (folder / "skills/other/out").symlink_to("/etc/passwd")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "third")
    git(folder, "checkout", "-q", "main")
    return f"file://{folder}"


def locked(cli: Workplace) -> dict[str, dict[str, str]]:
    return {one["name"]: one for one in json.loads((cli.skills / "skills.lock").read_text())["skills"]}


def test_a_folder_is_installed_and_written_down(cli: Workplace) -> None:
    write_skill(cli.folder / "src/pdf-tools", FILES | {"venv/x": "", ".git/config": "", "__pycache__/a.pyc": ""})
    done = cli("install", "src/pdf-tools", "--json")
    assert (done.code, done.err) == (0, "")
    assert cli.inside() == ["pdf-tools", "skills.lock"]
    assert sorted(path.name for path in (cli.skills / "pdf-tools").iterdir()) == ["SKILL.md", "scripts"]
    assert locked(cli)["pdf-tools"] == {name: done.json[name] for name in ("name", "version", "digest", "source")}
    assert done.json["source"] == "src/pdf-tools" and done.json["folder"] == "skills/pdf-tools"
    assert [one["state"] for one in cli("list", "--json").json] == ["eligible"]


@pytest.mark.parametrize("name", ["a.zip", "a.skill", "a.tar.gz"])
@pytest.mark.parametrize("inner", ["", "pdf-tools/", "repo-main/skills/pdf-tools/"])
def test_an_archive_is_installed_wherever_the_skill_lies_in_it(cli: Workplace, name: str, inner: str) -> None:
    files = {path.replace("pdf-tools/", inner): text for path, text in GOOD.items()}
    make = good_tar if name.endswith("gz") else good_zip
    make(cli.folder / name, files)
    assert cli("install", name).code == 0
    assert cli("show", "pdf-tools", "--json").json["source"] == name
    assert cli.inside() == ["pdf-tools", "skills.lock"]


def test_a_skill_that_does_not_say_its_name_gets_that_of_its_archive(cli: Workplace) -> None:
    good_zip(cli.folder / "from-a-zip.zip", {"SKILL.md": "---\ndescription: D.\n---\n"})
    assert cli("install", "from-a-zip.zip").code == 0
    assert cli("install", "from-a-zip.zip", "--name", "else").code == 0
    assert cli.inside() == ["else", "from-a-zip", "skills.lock"]


def test_one_of_several_is_chosen_by_name_or_by_folder(cli: Workplace) -> None:
    url = repository(cli.folder / "repo")
    several = cli("install", "repo")
    assert several.code == 1 and "several skills: other, pdf-tools; choose one with --name" in several.err
    assert cli("install", "repo", "--name", "third").code == 1
    assert cli("install", "repo", "--name", "other").code == 0
    assert cli("install", f"git+{url}#subdirectory=skills/pdf-tools").code == 0
    assert cli("install", f"git+{url}#subdirectory=skills/nothing").code == 1
    assert cli.inside() == ["other", "pdf-tools", "skills.lock"]


def test_a_repository_is_installed_at_a_tag_a_branch_or_a_commit(cli: Workplace) -> None:
    url = repository(cli.folder / "repo")
    first, last = git(cli.folder / "repo", "rev-parse", "v1", "HEAD").split()
    for ref, commit, later in (
        ("@v1", first, False),
        ("@main", last, True),
        (f"@{first}", first, False),
        ("", last, True),
    ):
        done = cli("install", f"git+{url}{ref}#subdirectory=skills/pdf-tools", "--force")
        assert (done.code, done.err) == (0, "")
        assert locked(cli)["pdf-tools"]["source"] == f"git+{url}@{commit}#subdirectory=skills/pdf-tools"
        assert (cli.skills / "pdf-tools/later.md").exists() == later
    assert not (cli.skills / "pdf-tools/.git").exists()


def test_what_git_refuses_is_one_line(cli: Workplace) -> None:
    url = repository(cli.folder / "repo")
    unknown = cli("install", f"{url}@nowhere")
    assert unknown.code == 1 and "nowhere" in unknown.err and len(unknown.err.splitlines()) == 1
    assert cli("install", "file:///nothing/here").code == 1
    out = cli("install", f"{url}@bad#subdirectory=skills/other")
    assert out.code == 1 and "symlink that leads out" in out.err
    assert cli.inside() == []


def test_hooks_of_a_repository_and_of_its_user_do_not_run(cli: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    url = repository(cli.folder / "repo")
    hooks, ran = cli.folder / "hooks", cli.folder / "ran"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    (cli.folder / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {cli.folder}\n")
    monkeypatch.setenv("GIT_DIR", str(cli.folder / "elsewhere"))
    assert cli("install", f"{url}#subdirectory=skills/other").code == 0
    assert not ran.exists()


def test_a_skill_that_is_there_is_replaced_only_by_force(cli: Workplace) -> None:
    write_skill(cli.folder / "one", FILES)
    write_skill(cli.folder / "two", {"SKILL.md": SKILL_MD + "More.\n"})
    assert cli("install", "one").code == 0
    before = locked(cli)
    refused = cli("install", "two")
    assert refused.code == 1 and "pdf-tools is there already; --force replaces it" in refused.err
    assert locked(cli) == before and (cli.skills / "pdf-tools/scripts").exists()
    assert cli("install", "two", "--force").code == 0
    assert locked(cli)["pdf-tools"]["digest"] != before["pdf-tools"]["digest"]
    assert cli.inside() == ["pdf-tools", "skills.lock"] and not (cli.skills / "pdf-tools/scripts").exists()


def test_a_replacement_that_fails_leaves_the_old_one(cli: Workplace) -> None:
    write_skill(cli.folder / "one", FILES)
    assert cli("install", "one").code == 0
    (cli.skills / "skills.lock").write_text("broken")
    (cli.folder / "one/more.md").touch()
    assert cli("install", "one", "--force").code == 1
    assert cli.inside() == ["pdf-tools", "skills.lock"] and not (cli.skills / "pdf-tools/more.md").exists()


REFUSED = {
    "nothing": ({"README.md": "No skill."}, "it holds no skill"),
    "no description": ({"SKILL.md": "---\nname: pdf-tools\n---\n"}, "no skill that loads"),
    "a bad name": ({"SKILL.md": SKILL_MD.replace("pdf-tools", "..")}, "no name for a skill"),
}


@pytest.mark.parametrize(("files", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_skill_that_loads_is_refused(cli: Workplace, files: dict[str, str], why: str) -> None:
    write_skill(cli.folder / "Not A Name", files)
    done = cli("install", "Not A Name")
    assert done.code == 1 and why in done.err
    assert cli.inside() == []


def test_a_folder_with_a_link_out_or_a_fifo_is_refused(cli: Workplace) -> None:
    write_skill(cli.folder / "src", FILES)
    (cli.folder / "src/out").symlink_to("../..")
    assert "leads out" in cli("install", "src").err
    (cli.folder / "src/out").unlink()
    subprocess.run(["mkfifo", cli.folder / "src/pipe"], check=True)
    assert "neither a file" in cli("install", "src").err
    assert cli.inside() == []


def test_a_link_from_one_skill_to_another_leads_out_once_it_stands_alone(cli: Workplace) -> None:
    members = [tar_member(name, text.encode()) for name, text in GOOD.items()]
    link = tar_member("pdf-tools/up", type=b"2", linkname="../shared.md")
    tar_gz(cli.folder / "a.tar.gz", *members, tar_member("shared.md"), link)
    assert "leads out" in cli("install", "a.tar.gz").err
    assert cli.inside() == []


@pytest.mark.parametrize(
    "source",
    ["", "ftp://h/x.git", "https://h/x", "git+https://h/x.git@-x", "git+https://-h/x.git", "x#subdirectory=.."],
)
def test_a_source_that_cannot_be_meant_so_is_wrong_usage(cli: Workplace, source: str) -> None:
    done = cli("install", source)
    assert (done.code, len(done.err.splitlines())) == (2, 1)


def test_a_skill_for_the_user_goes_into_the_users_root(cli: Workplace) -> None:
    write_skill(cli.folder / "src", FILES)
    assert cli("install", "src", "--user").code == 0
    assert (cli.folder / ".config/skillfleet/skills/pdf-tools/SKILL.md").exists()
    assert cli("show", "pdf-tools", "--json").json["name"] == "pdf-tools"
    wrong = cli("remove", "pdf-tools")
    assert wrong.code == 2 and "remove it with --user" in wrong.err
    assert cli("remove", "pdf-tools", "--user").code == 0


def test_what_was_installed_is_removed_with_its_entry(cli: Workplace) -> None:
    write_skill(cli.folder / "src", FILES)
    write_skill(cli.skills / "own", {"SKILL.md": "Mine."})
    cli("install", "src")
    assert cli("remove", "pdf-tools").code == 0
    assert locked(cli) == {} and cli.inside() == ["own", "skills.lock"]
    again = cli("remove", "pdf-tools")
    assert again.code == 2 and "there is no skill 'pdf-tools'" in again.err


def test_what_was_not_installed_is_removed_only_by_force(cli: Workplace) -> None:
    write_skill(cli.skills / "own", {"SKILL.md": "Mine."})
    refused = cli("remove", "own")
    assert refused.code == 1 and "not in skills.lock" in refused.err and cli.inside() == ["own"]
    assert cli("remove", "own", "--force").code == 0
    for name in ("..", ".", "", "a/b", ".skills.lock.held"):
        assert cli("remove", name, "--force").code == 2
    assert cli.inside() == ["skills.lock"]


def test_a_locked_skill_that_was_changed_cannot_run(cli: Workplace) -> None:
    write_skill(cli.folder / "src", FILES)
    cli("install", "src")
    (cli.skills / "pdf-tools/scripts/read.py").write_text("print('changed')")
    (listed,) = cli("list", "--all", "--json").json
    assert listed["state"] == "ineligible" and listed["reason"].startswith("differs from skills.lock: installed ")
    refused = cli("run", "pdf-tools", "read")
    assert (refused.code, refused.out) == (1, "") and "differs from skills.lock" in refused.err
    assert cli("install", "skills/pdf-tools", "--force").code == 0
    assert cli("list", "--json").json[0]["state"] == "eligible"


@pytest.mark.parametrize("there", [True, False])
def test_what_cannot_be_written_down_is_put_back(tmp_path: Path, there: bool) -> None:
    new, at = tmp_path / "shop/new", tmp_path / "root/lab"
    write_skill(new, {"SKILL.md": "new"})
    write_skill(at, {"SKILL.md": "old"}) if there else at.parent.mkdir()
    with pytest.raises(OSError, match="full"), placed(new, at, force=True):
        assert (at / "SKILL.md").read_text() == "new"
        raise OSError("full")
    assert (new / "SKILL.md").read_text() == "new"
    assert (at / "SKILL.md").read_text() == "old" if there else not at.exists()


def test_twins_by_case_are_not_put_beside_each_other(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills/Pdf-Tools", FILES)
    write_skill(tmp_path / "src", FILES)
    with pytest.raises(RefusedError, match="'Pdf-Tools' is there already, and differs by upper and lower case alone"):
        install(parse_source(str(tmp_path / "src")), tmp_path / "skills", force=True)


def test_what_a_killed_install_left_is_removed_by_the_next(cli: Workplace) -> None:
    write_skill(cli.folder / "src", FILES)
    write_skill(cli.skills / WORKSHOP / "worker-killed/new/half", FILES)
    assert cli("list", "--all", "--json").json == []
    assert cli("install", "src").code == 0
    assert cli.inside() == ["pdf-tools", "skills.lock"]


def test_installs_at_the_same_time_lose_no_entry(tmp_path: Path) -> None:
    sources = [tmp_path / f"src-{number}" for number in range(12)]
    for source in sources:
        write_skill(source, {"SKILL.md": SKILL_MD.replace("pdf-tools", source.name)})

    def one(source: Path) -> str:
        return install(parse_source(str(source)), tmp_path / "skills").name

    with ThreadPoolExecutor(6) as pool:
        names = list(pool.map(one, sources))
    lock = json.loads((tmp_path / "skills/skills.lock").read_text())
    assert [skill["name"] for skill in lock["skills"]] == sorted(names)
    assert not (tmp_path / "skills/.installing").exists()
