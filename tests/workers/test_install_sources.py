"""How the source of a skill is written, and how skills.lock names it."""

import pytest

from skillfleet_workers.skills.install_sources import Local, Repository, Source, SourceError, parse_source

GOOD: dict[str, Source] = {
    "./a": Local("./a"),
    "a.zip#subdirectory=x/y": Local("a.zip", "x/y"),
    "https://h.example/x.git": Repository("https://h.example/x.git", "https"),
    "https://h.example/x.git@v1": Repository("https://h.example/x.git", "https", "v1"),
    "git+https://h.example/x@feature/y": Repository("https://h.example/x", "https", "feature/y"),
    "git+https://u:p@h.example:8443/x.git@v1#subdirectory=s": Repository(
        "https://u:p@h.example:8443/x.git", "https", "v1", "s"
    ),
    "git+ssh://git@h.example/x.git": Repository("ssh://git@h.example/x.git", "ssh"),
    "git@h.example:me/x.git": Repository("git@h.example:me/x.git", "ssh"),
    "git@h.example:me/x.git@v1": Repository("git@h.example:me/x.git", "ssh", "v1"),
    "file:///srv/x": Repository("file:///srv/x", "file"),
}


@pytest.mark.parametrize(("text", "source"), GOOD.items())
def test_a_source_is_read(text: str, source: Source) -> None:
    assert parse_source(text) == source


WRONG = {
    " ": "must be a folder",
    "a\nb": "must be a folder",
    "a\udcff": "must be a folder",
    "http://h.example/x.git": "use https://, ssh:// or file://",
    "git+ext::sh -c touch% /x://y": "use https://",
    "https://h.example/x.zip": "download the archive",
    "https://h.example/x.git?a=b": "#subdirectory=FOLDER",
    "https://h.example/x.git#egg=x": "#subdirectory=FOLDER",
    "https:///x.git": "no URL",
    "file://host/x.git": "no URL",
    "git+https://-oProxyCommand=x/x.git": "no URL",
    "git+https://h.example/x.git@--upload-pack=x": "no name of a branch",
    "git+https://h.example/x.git@a..b": "no name of a branch",
    "git+https://h.example/x.git@+a:b": "no name of a branch",
    "git@h.example:x.git@-x": "no name of a branch",
    "a#subdirectory=": "inside the source",
    "a#subdirectory=/etc": "inside the source",
    "a#subdirectory=x/../..": "inside the source",
}


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_a_source_that_cannot_be_meant_so_is_refused(text: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        parse_source(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git+https://u:secret@h.example:8443/x.git@v1#subdirectory=s", "git+https://h.example:8443/x.git@c0ffee#subdirectory=s"),
        ("https://token@h.example/x.git", "git+https://h.example/x.git@c0ffee"),
        ("git@h.example:me/x.git@v1", "git@h.example:me/x.git@c0ffee"),
    ],
)  # fmt: skip
def test_a_repository_is_named_with_its_commit_and_without_credentials(text: str, shown: str) -> None:
    source = parse_source(text)
    assert isinstance(source, Repository)
    assert source.at("c0ffee") == shown
    again = parse_source(shown)
    assert isinstance(again, Repository) and again.ref == "c0ffee" and again.at("c0ffee") == shown
