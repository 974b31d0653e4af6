"""Measure an English text: words, sentences, reading time and the Flesch reading ease."""

import argparse
import json
import re
import sys
from pathlib import Path

WORDS_PER_MINUTE = 238
"""Silent reading of English non-fiction (Brysbaert 2019, doi:10.1016/j.jml.2019.104047)."""
EASE = ((90, "very easy"), (80, "easy"), (70, "fairly easy"), (60, "plain"), (50, "fairly hard"), (30, "hard"))

_NOT_PROSE = re.compile(r"^```.*?^```|^ *\|.*?$|^#+ .*?$|!\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|\d[\d.,:%]*")
_SENTENCE_END = re.compile(r"[.!?]+(?=[\"')\]*_]*(?:\s|$))|\n\s*(?:\n|[-*] |\d+\. )|$")
_SILENT_END = re.compile(r"(?:[^aeiouy](?<![^aeiouy]l)(?<![sxzcgh])es|[^td]ed|[^aeiouy](?<![^aeiouy]l)e)$")
_VOWELS = re.compile(r"[aeiouy]+")


def measure(text: str) -> dict[str, float | str]:
    """Headings, tables, code and pictures of Markdown don't count as prose, but for `words`, which counts all.

    `flesch` is 206.835 - 1.015 * words / sentences - 84.6 * syllables / words (Flesch 1948), of the prose.
    """
    prose = _LINK.sub(r"\1", _NOT_PROSE.sub("", text))
    words = _WORD.findall(prose)
    total = len(_WORD.findall(text))
    sentences = sum(1 for part in _SENTENCE_END.split(prose) if _WORD.search(part))
    score = _flesch(len(words), sentences, sum(map(syllables, words))) if words else 0.0
    return {
        "words": total,
        "sentences": sentences,
        "reading_minutes": round(total / WORDS_PER_MINUTE, 1),
        "flesch": round(score, 1),
        "ease": next((name for least, name in EASE if score >= least), "very hard") if words else "no prose",
    }


def syllables(word: str) -> int:
    """By rule of thumb: groups of vowels, less a silent ending. Numbers count as one."""
    letters = word.lower()
    groups = len(_VOWELS.findall(letters))
    if groups > 1 and _SILENT_END.search(letters):
        groups -= 1
    return max(groups, 1)


def _flesch(words: int, sentences: int, syllable_count: int) -> float:
    return 206.835 - 1.015 * words / sentences - 84.6 * syllable_count / words


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="text or Markdown; - reads standard input")
    options = parser.parse_args(arguments)
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    except OSError as error:
        print(f"readability: {options.file}: {error.strerror}", file=sys.stderr)
        return 1
    except UnicodeDecodeError:
        print(f"readability: {options.file}: not UTF-8 text", file=sys.stderr)
        return 1
    print(json.dumps(measure(text)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
