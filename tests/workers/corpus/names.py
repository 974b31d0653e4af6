"""Names, in the frontmatter and of the folder."""

from collections.abc import Iterator

from tests.workers.corpus.entry import Entry, Outcome, front, md

# As the name and the folder's name; NFC, NFD, full width, ligatures, other scripts, letters with odd cases.
SAME: tuple[tuple[str, Outcome], ...] = (
    ("a", "loads"), ("a1", "loads"), ("1a", "loads"), ("42", "loads"), ("a-b", "loads"), ("a-b-c-1", "loads"),
    ("0", "loads"), ("null", "loads"), ("true", "loads"), ("1e3", "loads"), ("2024-01-01", "loads"),
    ("x" * 63, "loads"), ("x" * 64, "loads"), ("x" * 65, "warns"), ("x" * 200, "warns"),
    ("größe", "loads"), ("gro\u0308ße", "loads"), ("数据", "loads"), ("данные", "loads"), ("\u0628\u064a\u062a", "loads"),
    ("हिन्दी", "warns"), ("straße", "loads"), ("ﬁle", "loads"), ("ｆｕｌｌ", "loads"), ("²", "loads"), ("½", "warns"),
    ("İ", "warns"), ("ı", "loads"), ("i\u0307", "warns"), ("Ა", "warns"), ("ა", "loads"), ("Ⴀ", "warns"), ("ǆ", "loads"),
    ("ǅ", "warns"), ("ª", "loads"), ("Ω", "warns"), ("\u2126", "warns"), ("Å", "warns"), ("ꙁ", "loads"), ("𝐚", "loads"),
    ("𝐀", "warns"), ("𐐨", "loads"), ("𐐀", "warns"), ("ⅷ", "loads"), ("Ⅷ", "warns"), ("①", "loads"), ("ﬀ", "loads"),
    ("x\u200by", "warns"), ("x\u00ady", "warns"), ("é", "loads"), ("e\u0301", "loads"), ("q\u0301", "warns"),
    ("Upper", "warns"), ("uPPer", "warns"), ("UPPER", "warns"), ("-a", "warns"), ("a-", "warns"), ("a--b", "warns"),
    ("a-–b", "warns"), ("a_b", "warns"), ("a.b", "warns"), ("a b", "warns"), ("a+b", "warns"), ("a,b", "warns"),
    ("a~b", "warns"), ("a;b", "warns"), ("a(b)", "warns"), ("a$b", "warns"), ("a=b", "warns"), ("ab😀", "warns"),
    ("a―b", "warns"), ("a−b", "warns"), ("a－b", "loads"), ("ab－－c", "warns"), ("a\u00a0b", "warns"),
)  # fmt: skip

# What the frontmatter says where the folder is called calc: the folder's name holds, and any difference is told.
OTHER: tuple[tuple[str, Outcome], ...] = (
    ("other", "warns"), ("Calc", "warns"), ("CALC", "warns"), ("calc1", "warns"), ("cal", "warns"), ("ｃalc", "warns"),
    ("'calc'", "loads"), ('"calc"', "loads"), (" calc", "loads"), ("calc ", "loads"), ("calc # why", "loads"),
    ("' calc '", "warns"), ('"calc\\n"', "warns"), ('"\\x63alc"', "loads"), ('"ca\\u006cc"', "loads"),
    (">-\n  calc", "loads"), ("|-\n  calc", "loads"), (">\n  calc", "warns"), ("|\n  calc", "warns"),
    ("\n  calc", "loads"), ("''", "warns"), ('""', "warns"), ("' '", "warns"), ("~", "warns"), ("null", "warns"),
    ("", "warns"), ("1", "warns"), ("1.5", "warns"), ("true", "warns"), ("2024-01-01", "warns"), ("-", "warns"),
    ("[calc]", "warns"), ("{calc: 1}", "warns"), ("\n  - calc", "warns"), ("\n  calc: 1", "warns"), ("../calc", "warns"),
    ("calc/", "warns"), ("calc\\", "warns"), ("calc: x", "warns"), ("@calc", "warns"), ("`calc`", "warns"),
    ("%calc", "warns"), ("*calc", "skipped"), ("&a calc", "loads"), ("!!str calc", "loads"), ("!calc", "warns"),
)  # fmt: skip


def names() -> Iterator[Entry]:
    for name, outcome in SAME:
        text = f"---\nname: \"{name}\"\ndescription: Adds.\n---\n"
        yield md(f"name and folder {name!r}", text, outcome, "Adds.", name)
    for name, outcome in OTHER:
        description = None if outcome == "skipped" else "Adds."
        yield front(f"name {name!r} in calc", f"name: {name}\ndescription: Adds.", outcome, description)
    yield front("no name", "description: Adds.", "loads", "Adds.")
    yield front("two names", "name: calc\nname: calc\ndescription: Adds.", "loads", "Adds.")
    yield front("two names, the last another", "name: calc\nname: other\ndescription: Adds.", "warns", "Adds.")
    yield md("folder with a version", "---\nname: calc\ndescription: Adds.\n---\n", "loads", "Adds.", "calc@1.2.0")
    yield md("folder and name with one", "---\nname: calc@1.2.0\ndescription: A.\n---\n", "warns", "A.", "calc@1.2.0")
