"""Every field, at its limit, under and over it, and of another kind than it must be."""

from collections.abc import Iterator

from tests.workers.corpus.entry import Entry, Outcome, beside, front, md

_X = "x"
DESCRIPTIONS: tuple[tuple[str, Outcome, str | None], ...] = (
    ("Adds.", "loads", "Adds."), ("A", "loads", "A"), ("'Adds.'", "loads", "Adds."), ('"Adds."', "loads", "Adds."),
    (_X * 1023, "loads", _X * 1023), (_X * 1024, "loads", _X * 1024), (_X * 1025, "warns", _X * 1025),
    (_X * 5000, "warns", _X * 5000), ("é" * 1024, "loads", "é" * 1024), ("é" * 1025, "warns", "é" * 1025),
    ("😀" * 1024, "loads", "😀" * 1024), (f"'{_X * 1023} '", "loads", _X * 1023), (f"'{_X * 1024} '", "loads", _X * 1024),
    ("'  '", "skipped", None), ("''", "skipped", None), ("", "skipped", None), ('"\\n"', "skipped", None),
    ('"\\t"', "skipped", None), ("null", "loads", "null"), ("~", "loads", "~"), ("true", "loads", "true"),
    ("12", "loads", "12"), ("1.5", "loads", "1.5"), ("2024-01-01", "loads", "2024-01-01"), ("[a, b]", "skipped", None),
    ("{a: b}", "skipped", None), ("\n  - a", "skipped", None), ("\n  a: b", "skipped", None), ("[]", "skipped", None),
    (">\n  Adds\n  numbers.", "loads", "Adds numbers."), ("|\n  Adds\n  numbers.", "loads", "Adds\nnumbers."),
    (">-\n  Adds\n\n  numbers.", "loads", "Adds\nnumbers."), ("|+\n  Adds.\n\n", "loads", "Adds."),
    (">2\n   Adds.", "loads", "Adds."), ("\n  Adds\n  numbers.", "loads", "Adds numbers."),
    ("Adds\n  numbers.", "loads", "Adds numbers."), ("Adds. # a comment", "loads", "Adds."),
    ("Adds #hash", "loads", "Adds"), ("Adds#hash", "loads", "Adds#hash"), ("Use when: adding", "loads", "Use when: adding"),
    ("'Use when: adding'", "loads", "Use when: adding"), ("Adds:", "loads", "Adds:"), ("a:b", "loads", "a:b"),
    ("http://x.test", "loads", "http://x.test"), ("It's", "loads", "It's"), ("'It''s'", "loads", "It's"),
    ('"a\\"b"', "loads", 'a"b'), ("'open", "skipped", None), ('"open', "skipped", None), ("\"bad \\q\"", "skipped", None),
    ("@adds", "loads", "@adds"), ("`adds`", "loads", "`adds`"), ("%adds", "loads", "%adds"), ("*adds", "skipped", None),
    ("&a Adds.", "loads", "Adds."), ("!x Adds.", "loads", "Adds."), ("!!str Adds.", "loads", "Adds."),
    ("!!int Adds.", "loads", "Adds."), ("? Adds", "loads", "? Adds"), ("- Adds", "loads", "- Adds"), ("-Adds", "loads", "-Adds"),
    ("<b>Adds</b>", "loads", "<b>Adds</b>"), ("a --- b", "loads", "a --- b"), ("'a --- b'", "loads", "a --- b"),
    ("---", "loads", "---"), ("a---b", "loads", "a---b"), ("a -- b", "loads", "a -- b"), ("...", "loads", "..."),
    ("\u00a0", "skipped", None), ("a\u00a0b", "loads", "a\u00a0b"), ("a\u2028b", "loads", None), ("a\u0085b", "loads", None),
    ("a\tb", "loads", "a\tb"), ("\tAdds.", "loads", "Adds."), ("a\u0000b", "skipped", None), ("a\u0007b", "skipped", None),
    ("a\ufeffb", "loads", None), ("a\u200bb", "loads", "a\u200bb"), ("|\n\tAdds.", "skipped", None), ("'a\n\n  b'", "loads", "a\nb"),
)  # fmt: skip

TEXT = (
    ("MIT", "loads"), ("'Apache-2.0'", "loads"), ("", "loads"), ("''", "loads"), ("null", "loads"), ("[MIT]", "warns"),
    ("{a: b}", "warns"), ("\n  - MIT", "warns"), ("\n  a: b", "warns"), ("1.0", "loads"), (f"'{_X * 3000}'", "loads"),
    ("MIT: or so", "loads"), ("|\n  MIT\n  or so", "loads"), ("🪪", "loads"),
)  # fmt: skip
COMPATIBILITY = (
    ("Python 3.11", "loads"), (_X, "loads"), (_X * 499, "loads"), (_X * 500, "loads"), (_X * 501, "warns"),
    ("é" * 500, "loads"), ("é" * 501, "warns"), ("", "loads"), ("''", "loads"), ("[a]", "warns"), ("\n  - a", "warns"),
    ("\n  a: b", "warns"), ("null", "loads"), ("3", "loads"),
)  # fmt: skip
METADATA = (
    ("\n  author: me", "loads"), ("\n  version: \"1.0.0\"", "loads"), ("\n  version: 1.0", "loads"), ("\n  a: 1\n  b: true", "loads"),
    ("{a: b}", "loads"), ("{}", "loads"), ("", "loads"), ("text", "warns"), ("\n  - a", "warns"), ("[a]", "warns"),
    ("\n  a:\n    b: c", "loads"), ("\n  a:\n    - b", "loads"), ("\n  a: [b]", "loads"), ("\n  a: b\n  a: c", "loads"),
    ("\n  version: [1]", "warns"), ("\n  a: b: c", "loads"), ("\n  a:\n  b:", "loads"), ("\n  1: 2", "loads"),
    ("\n  skillfleet:\n    timeout: 5", "loads"), ("\n  skillfleet:\n    timeout: 0", "warns"), ("\n  skillfleet: x", "warns"),
    ("\n  requires:\n    bins: [git]", "loads"), ("\n  requires: git", "warns"), ("\n  always: true", "loads"),
    ("\n  always: maybe", "warns"), ("\n  emoji: 🔧", "loads"), ("\n  emoji: [x]", "warns"), ("\n  primary_env: KEY", "loads"),
    ("\n  primary_env: a-b", "warns"), ("\n  requires:\n    os: [linux]", "loads"), ("\n  requires:\n    os: [beos]", "warns"),
    ("\n    deep: x\n  a: b", "skipped"), ("\n  a: b\n    c: d", "loads"), ("\n  <<: b", "loads"), ("\n  ? a\n  : b", "loads"),
    ("\n  x:\n    y: 1\n  z:\n     y: 1", "loads"), ("\n  a: |\n    b\n  c: d", "loads"), ("\n  a: '---'", "loads"),
)  # fmt: skip
ALLOWED_TOOLS = (
    ("Bash", "loads"), ("Bash(git:*) Read", "loads"), ("Bash(git add:*) Grep Glob", "loads"), ("Read, Grep", "loads"),
    ("[Read, Grep]", "loads"), ("\n  - Read\n  - Grep", "loads"), ("", "loads"), ("''", "loads"), ("[]", "loads"), ("{a: b}", "warns"),
    ("\n  a: b", "warns"), ("Write", "warns"), ("WebFetch(domain:x.test)", "warns"), ("bash", "warns"), ("calc__add", "loads"),
    ("run_skill_script list_skills", "loads"), ("Calc__add", "warns"), ("*", "skipped"), ("'*'", "loads"), ("Bash(", "loads"),
)  # fmt: skip
EXTRA = (
    ("model: some-model", "loads"), ("model: [a]", "warns"), ("context: fork", "loads"), ("context: inline", "warns"),
    ("agent: worker", "loads"), ("argument-hint: <query>", "loads"), ("argument-hint: [query]", "loads"), ("argument-hint: {a: b}", "warns"),
    ("disable-model-invocation: true", "loads"), ("disable-model-invocation: perhaps", "warns"), ("user-invocable: false", "loads"),
    ("user-invocable: [x]", "warns"), ("hooks:\n  PreToolExecution: echo pre", "loads"), ("hooks:\n  PreToolUse: echo", "warns"),
    ("hooks: echo", "warns"), ("hooks:\n  PostToolExecution: [a]", "warns"), ("version: 1.2.3", "loads"), ("version: a b", "warns"),
    ("timeout: 1", "loads"), ("timeout: 3600", "loads"), ("timeout: 3601", "warns"), ("timeout: 0", "warns"), ("timeout: 1.5", "warns"),
    ("max_retries: 0", "loads"), ("max_retries: 5", "loads"), ("max_retries: 6", "warns"), ("max_retries: -1", "warns"),
    ("tags: [a, b]", "loads"), ("tags: a b", "loads"), ("tags: {a: b}", "warns"), (f"tags: [{_X * 30}]", "loads"),
    (f"tags: [{_X * 31}]", "warns"), ("tags: [a, b, c, d, e, f, g, h, i, j]", "loads"), ("tags: [a, b, c, d, e, f, g, h, i, j, k]", "warns"),
    ("dependencies: [other, more@1.0.0]", "loads"), ("dependencies: ['a/b']", "warns"), ("dependencies: {a: b}", "warns"),
    ("parameters_schema: {type: object}", "loads"), ("parameters_schema:\n  type: object\n  minProperties: 1", "loads"),
    ("parameters_schema: '{\"type\": \"object\"}'", "loads"), ("parameters_schema: {type: nothing}", "warns"), ("parameters_schema: text", "warns"),
    ("parameters_schema: {minLength: x}", "warns"), ("returns_schema: {type: object}", "loads"), ("returns_schema: [a]", "warns"),
    ("unknown: value", "loads"), ("Name: calc", "loads"), ("DESCRIPTION: x", "loads"), ("allowed_tools: Read", "loads"), ("'': x", "loads"),
    ("\"name \": x", "loads"), ("keywords: [a]", "loads"), ("author: me", "loads"), ("1: 2", "loads"), ("? [a, b]\n: c", "skipped"),
)  # fmt: skip


def fields() -> Iterator[Entry]:
    for text, outcome, description in DESCRIPTIONS:
        yield front(f"description {text[:40]!r} of {len(text)}", f"name: calc\ndescription: {text}", outcome, description)
    tables = {"license": TEXT, "compatibility": COMPATIBILITY, "metadata": METADATA, "allowed-tools": ALLOWED_TOOLS}
    for field, rows in tables.items():
        for text, outcome in rows:
            yield beside(f"{field} {text[:40]!r} of {len(text)}", f"{field}: {text}", outcome)
    for line, outcome in EXTRA:
        yield beside(f"with {line[:60]!r}", line, outcome)
    yield front("no description", "name: calc", "skipped")
    yield front("two descriptions", "name: calc\ndescription: A.\ndescription: B.", "loads", "B.")
    yield md("all fields", ALL, "loads", "Adds.")


ALL = """---
name: calc
description: Adds.
license: MIT
compatibility: Python 3.11
metadata:
  author: me
  version: "1.0"
allowed-tools: Bash(git:*) Read
---
# Calc
"""
