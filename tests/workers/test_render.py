"""How a skill's instructions are filled in: arguments, names, and the output of commands."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet_workers.skills.render import MOST_CHARS, Command, pieces, rendered, split

NAMES = {"CLAUDE_SESSION_ID": "c1", "CLAUDE_SKILL_DIR": "/skills/a"}


def filled(template: str, arguments: str = "", *outputs: str, names: Mapping[str, str] = NAMES) -> str:
    return rendered(pieces(template), outputs, arguments, names)


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        ("Use $ARGUMENTS.", "a 'b c'", "Use a 'b c'."),
        ("Use $ARGUMENTS.", "", "Use ."),
        ("$1, $2, $3!", "a 'b c'", "a, b c, !"),
        ("$10 $1", "1 2 3 4 5 6 7 8 9 ten", "ten 1"),
        ("$2", 'a "b', '"b'),
        ("$0 $a $ARGUMENTS_OF", "x", "$0 $a $ARGUMENTS_OF\n\nARGUMENTS: x"),
        ("${CLAUDE_SESSION_ID} in ${CLAUDE_SKILL_DIR}", "", "c1 in /skills/a"),
        ("${HOME} ${CLAUDE_SESSION_ID", "", "${HOME} ${CLAUDE_SESSION_ID"),
        (r"\$1 is \$ARGUMENTS, \${CLAUDE_SESSION_ID}", "", "$1 is $ARGUMENTS, ${CLAUDE_SESSION_ID}"),
        (r"\$x \${HOME} \n", "", r"\$x \${HOME} \n"),
        (r"only \$1", "x", "only $1\n\nARGUMENTS: x"),
        ("Nothing.", "a b", "Nothing.\n\nARGUMENTS: a b"),
        ("Nothing.", " ", "Nothing."),
        ("```\n$1\n```", "x", "```\nx\n```"),
        ("$" + "9" * 5000, "x", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_placeholders_are_filled_from_the_arguments(template: str, arguments: str, text: str) -> None:
    assert filled(template, arguments) == text


@pytest.mark.parametrize(
    "template",
    [
        "a!`date`", "``!`date` ``", "```\n!`date`\n```", "~~~ sh\n!`date`", "````\n```\n!`date`\n```", "!`a\nb`",
        "! `date`", "!``",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_command_is_none(template: str) -> None:
    assert filled(template) == template


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Today: !`date +%Y`.", "Today: OUT."),
        ("!`a` !`b`\n!`c`", "OUT OUT\nOUT"),
        ("```\nx\n```\n!`a`", "```\nx\n```\nOUT"),
        ("``` inline ``` !`a`", "``` inline ``` OUT"),
    ],
)
def test_a_commands_output_stands_in_its_place(template: str, text: str) -> None:
    commands = [piece for piece in pieces(template) if isinstance(piece, Command)]
    assert filled(template, "", *["OUT" for _ in commands]) == text


def test_a_command_is_what_the_author_wrote_whatever_the_arguments() -> None:
    assert pieces("!`grep $1 ${CLAUDE_SKILL_DIR}`") == ("", Command("grep $1 ${CLAUDE_SKILL_DIR}"), "")


HOSTILE = [
    "$(touch x)",
    "`touch x`",
    "!`touch x`",
    "; touch x",
    "$1 $ARGUMENTS ${CLAUDE_SESSION_ID}",
    "' !`touch x` '",
]


@pytest.mark.parametrize("arguments", HOSTILE)
def test_text_from_arguments_is_no_command_and_is_not_filled_in_again(arguments: str) -> None:
    template = "a $ARGUMENTS\n$ARGUMENTS"
    assert not any(isinstance(piece, Command) for piece in pieces(template))
    assert filled(template, arguments) == f"a {arguments}\n{arguments}"


def test_the_output_of_a_command_is_not_filled_in_again() -> None:
    assert filled("!`a` $1", "x", "$1 $ARGUMENTS !`b` ${CLAUDE_SESSION_ID}") == (
        "$1 $ARGUMENTS !`b` ${CLAUDE_SESSION_ID} x"
    )


def test_a_placeholder_that_stands_only_in_a_commands_output_takes_no_arguments() -> None:
    assert filled("!`a`", "x", "$1") == "$1\n\nARGUMENTS: x"


def test_what_is_repeated_without_end_is_cut() -> None:
    text = filled("$ARGUMENTS " * 1000, "x" * 100_000)
    assert MOST_CHARS <= len(text) < MOST_CHARS + 100 and text.endswith("characters]")


@given(st.text("ab !`$1{}\\\n~'\"ARGUMENTS", max_size=60), st.text("ab !`$1'\"\n", max_size=30))
def test_nothing_is_lost_but_what_is_replaced(template: str, arguments: str) -> None:
    found = pieces(template)
    assert "".join(f"!`{p.line}`" if isinstance(p, Command) else p for p in found) == template
    text = rendered(found, ["" for p in found if isinstance(p, Command)], arguments, {})
    if "$" not in template and "!`" not in template:
        assert text.startswith(template)
    assert isinstance(split(arguments), list)
