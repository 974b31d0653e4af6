"""Files that are odd as YAML, as text or as files."""

from collections.abc import Iterator

from tests.workers.corpus.entry import NAME, Entry, Outcome, front, md

GOOD = "---\nname: calc\ndescription: Adds.\n---\n# Calc\n"
NAMED = "name: calc\ndescription: Adds.\n"

# The whole file.
FILES: tuple[tuple[str, str | bytes, Outcome, str | None], ...] = (
    ("good", GOOD, "loads", "Adds."),
    ("empty", "", "loads", "No description."),
    ("blank", "\n\n", "loads", "No description."),
    ("prose alone", "# Calc\n\nAdds.\n", "loads", "Adds."),
    ("only ---", "---", "skipped", None),
    ("--- and a line end", "---\n", "skipped", None),
    ("empty frontmatter", "---\n---\n", "skipped", None),
    ("blank frontmatter", "---\n\n\n---\n", "skipped", None),
    ("six hyphens", "------", "loads", "No description."),
    ("a comment alone", "---\n# nothing\n---\n", "skipped", None),
    ("not closed", f"---\n{NAMED}", "skipped", None),
    ("closed with dots", f"---\n{NAMED}...\n", "skipped", None),
    ("closed at the end", f"---\n{NAMED}---", "loads", "Adds."),
    ("closed with blanks", f"---\n{NAMED}---  \n", "loads", "Adds."),
    ("closed indented", f"---\n{NAMED} ---\n", "loads", "Adds."),
    ("closed with four", f"---\n{NAMED}----\n", "loads", "Adds."),
    ("closed with text", f"---\n{NAMED}---x\n", "loads", "Adds."),
    ("opened with blanks", f"---  \n{NAMED}---\n", "loads", "Adds."),
    ("opened with four", f"----\n{NAMED}---\n", "loads", None),
    ("opened late", f"\n---\n{NAMED}---\n", "loads", None),
    ("opened indented", f" ---\n{NAMED}---\n", "loads", None),
    ("opened with text", f"--- # x\n{NAMED}---\n", "loads", "Adds."),
    ("opened in the line", f"---{NAMED}---\n", "loads", "Adds."),
    ("a rule, prose and rules", "---\n\nAdds.\n\n---\n\nMore.\n\n---\n", "skipped", None),
    ("prose between rules", "----\nAdds: all\n----\n", "loads", None),
    ("all on the first line", "--- name: calc ---", "loads", None),
    ("CRLF", GOOD.replace("\n", "\r\n"), "loads", "Adds."),
    ("CR", GOOD.replace("\n", "\r"), "loads", None),
    ("mixed line ends", f"---\r\n{NAMED}---\r\n", "loads", "Adds."),
    ("BOM", b"\xef\xbb\xbf" + GOOD.encode(), "loads", "Adds."),
    ("two BOMs", b"\xef\xbb\xbf" * 2 + GOOD.encode(), "loads", None),
    ("UTF-16", GOOD.encode("utf-16"), "loads", None),
    ("Latin-1 in the body", GOOD.encode() + b"gr\xfc\xdfe", "loads", "Adds."),
    ("Latin-1 in the description", GOOD.replace("Adds", "Add\xfc").encode("latin-1"), "loads", "Add\ufffd."),
    ("cut character at the end", GOOD.encode() + b"\xe2\x82", "loads", "Adds."),
    ("NUL in the body", GOOD + "\0", "loads", "Adds."),
    ("surrogate bytes", GOOD.encode() + b"\xed\xa0\x80", "loads", "Adds."),
    ("overlong bytes", GOOD.encode() + b"\xc0\x80", "loads", "Adds."),
    ("binary", bytes(range(256)), "loads", None),
    ("a long body", GOOD + "x" * 200_000, "loads", "Adds."),
    ("a bad byte far down", GOOD.encode() + b"x" * 200_000 + b"\xff", "loads", "Adds."),
    ("--- in the body", GOOD + "\n---\nmore: [\n---\n", "loads", "Adds."),
    ("a line of --- in a value", f"---\n{NAMED}license: |\n  a\n  ---\n  b\n---\n", "loads", "Adds."),
    ("--- in a comment", f"---\n# a --- b\n{NAMED}---\n", "loads", "Adds."),
    ("--- in a quoted name", "---\nname: 'a---b'\ndescription: x\n---\n", "warns", "x"),
    ("--- after the description", "---\nname: calc\ndescription: Adds.--- more\n---\n", "loads", "Adds.--- more"),
    ("a table of hyphens", f"---\n{NAMED}compatibility: a|---|b\n---\n", "loads", "Adds."),
    ("two documents", f"---\n{NAMED}---\na: b\n---\n", "loads", "Adds."),
    ("form feed", GOOD.replace("Adds.", "A\fB"), "skipped", None),
    ("DEL", GOOD.replace("Adds.", "A\x7fB"), "skipped", None),
    ("a private character", GOOD.replace("Adds.", "A\ue000B"), "loads", "A\ue000B"),
    ("no character", GOOD.replace("Adds.", "A\uffffB"), "skipped", None),
)  # fmt: skip

# The lines of the frontmatter.
FRONTS: tuple[tuple[str, Outcome, str | None], ...] = (
    (NAMED + "\tlicense: MIT", "skipped", None),
    ("name:\tcalc\ndescription:\tAdds.", "loads", "Adds."),
    ("name: calc\t\ndescription: Adds.", "loads", "Adds."),
    ("{name: calc, description: Adds.}", "loads", "Adds."),
    ('{"name": "calc", "description": "Adds."}', "loads", "Adds."),
    ("[a, b]", "skipped", None),
    ("- name: calc\n- description: Adds.", "skipped", None),
    ("just text", "skipped", None),
    ("'text'", "skipped", None),
    ("null", "skipped", None),
    ("12", "skipped", None),
    (NAMED + "x: &a 1\ny: *a", "loads", "Adds."),
    (NAMED + "x: *nothing", "skipped", None),
    (NAMED + "x: &a [*a]", "skipped", None),
    (NAMED + "x: &a\n  b: c\ny:\n  <<: *a", "loads", "Adds."),
    (NAMED + "x: !!python/object:os.system y", "loads", "Adds."),
    (NAMED + "x: !!binary aGk=", "loads", "Adds."),
    (NAMED + "x: !local y", "loads", "Adds."),
    (NAMED + "x: [1, 2", "skipped", None),
    (NAMED + "x: {a: b", "skipped", None),
    (NAMED + "x: ]", "loads", "Adds."),
    (NAMED + "x: }", "loads", "Adds."),
    (NAMED + "x: a]", "loads", "Adds."),
    (" name: calc\n description: Adds.", "loads", "Adds."),
    (" name: calc\ndescription: Adds.", "skipped", None),
    ("name: calc\n description: Adds.", "skipped", None),
    ("name : calc\ndescription : Adds.", "loads", "Adds."),
    ("name:calc\ndescription: Adds.", "skipped", None),
    ("name= calc\ndescription: Adds.", "skipped", None),
    ("\"name\": calc\n'description': Adds.", "loads", "Adds."),
    ("? name\n: calc\n? description\n: Adds.", "loads", "Adds."),
    ("name: calc # a\n# b\ndescription: Adds. # c", "loads", "Adds."),
    ("# first\nname: calc\n\n\ndescription: Adds.\n\n", "loads", "Adds."),
    ("%YAML 1.2", "skipped", None),
    ("%TAG ! x\n" + NAMED, "skipped", None),
    (NAMED + "...", "loads", "Adds."),
    (NAMED + "...\nmore: x", "skipped", None),
    ("name: calc\r\ndescription: Adds.\r", "loads", "Adds."),
    (NAMED + "x: 'a\nb'", "loads", "Adds."),
    (NAMED + "x: \"a\n\n  b\"", "loads", "Adds."),
    (NAMED + "x:\n- a\n- b", "loads", "Adds."),
    (NAMED + "x:\n  - a\n - b", "skipped", None),
    (NAMED + "x: - a", "loads", "Adds."),
    (NAMED + "x: a: b", "loads", "Adds."),
    (NAMED + "x: a: [", "loads", "Adds."),
    (NAMED + "x: |\n  a\n b", "skipped", None),
    (NAMED + "x: >5\n  a", "skipped", None),
    (NAMED + "x: | # c\n  a", "loads", "Adds."),
    (NAMED + "x: " + "[" * 60 + "]" * 60, "skipped", None),
    (NAMED + "x: " + "[" * 40 + "]" * 40, "loads", "Adds."),
    (NAMED + "x: " + "[" * 30_000, "skipped", None),
    (NAMED + "metadata:\n" + "".join(f"{'  ' * n}a:\n" for n in range(1, 30)), "loads", "Adds."),
    (NAMED + "metadata:\n" + "".join(f"  k{n}: v\n" for n in range(400)), "loads", "Adds."),
    (NAMED + "metadata:\n" + "".join(f"  k{n}: v\n" for n in range(400)) + "  k1: again", "loads", "Adds."),
    (NAMED + "x: \ud7ff", "loads", "Adds."),
    (NAMED + "metadata:\n  on: yes\n  no: off", "loads", "Adds."),
    (NAMED + "metadata:\n  when: 2024-99-99\n  n: 0o17\n  m: 0x1F\n  f: .inf\n  g: .nan", "loads", "Adds."),
    (NAMED + "license: ~", "loads", "Adds."),
)  # fmt: skip

SPELLINGS: tuple[tuple[tuple[str, ...], Outcome, str], ...] = (
    (("skill.md",), "loads", "skill.md"),
    (("skill.Md",), "loads", "skill.Md"),
    (("SKILL.MD",), "loads", "SKILL.MD"),
    (("Skill.md",), "loads", "Skill.md"),
    (("SKILL.md", "skill.md"), "loads", "SKILL.md"),
    (("SKILL.MD", "skill.md"), "loads", "skill.md"),
    (("SKILL.MD", "Skill.md"), "loads", "SKILL.MD"),
    (("SKILL.md", "README.md"), "loads", "SKILL.md"),
    (("README.md",), "loads", "No description."),
    (("SKILL.txt",), "loads", "No description."),
    ((), "loads", "No description."),
)  # fmt: skip


def oddities() -> Iterator[Entry]:
    for title, text, outcome, description in FILES:
        yield md(title, text, outcome, description)
    for lines, outcome, description in FRONTS:
        yield front(f"frontmatter {lines[:50]!r} of {len(lines)}", lines, outcome, description)
    for spellings, outcome, description in SPELLINGS:
        files = {name: f"---\nname: {NAME}\ndescription: {name}\n---\n".encode() for name in spellings}
        yield Entry(f"files {spellings}", files, outcome, description)
    yield Entry("a folder called SKILL.md", {"SKILL.md/x": b""}, "skipped")
    yield Entry(
        "a good skill.md beside a bad SKILL.md", {"SKILL.md": b"---\n---\n", "skill.md": GOOD.encode()}, "skipped"
    )
