import json
import math
from typing import Any

import pytest
from tests.workers.shipped_skills.bench import Bench

FINDINGS: dict[str, Any] = {
    "title": "Petals tell\nspecies apart",
    "summary": "The cat sat on the mat. It cost $5.",
    "date": "2026-05-31",
    "sections": [
        {"heading": "Means", "points": ["one", "two"], "table": [{"a|b": 1.5, "c": "x|y"}, {"a|b": None}]},
        {"heading": "More", "text": "First.\n\nSecond.", "image": "chart.png"},
    ],
}
REPORT = """\
# Petals tell species apart

*2026-05-31*

**Summary:** The cat sat on the mat. It cost $5.

## Means

- one
- two

| a\\|b | c |
| --- | --- |
| 1.5 | x\\|y |
|  |  |

## More

First.

Second.

![More](chart.png)
"""


def test_findings_become_a_report_in_the_output_folder(bench: Bench) -> None:
    done = bench.run("text-report", "scripts/report.py", "-", "--output", "r.md", stdin=json.dumps(FINDINGS))
    assert (done.returncode, done.stderr) == (0, "")
    assert (bench.output / "r.md").read_text() == REPORT
    measured = json.loads(bench.run("text-report", "scripts/readability.py", "-", stdin=REPORT).stdout)
    assert json.loads(done.stdout) == {"file": "r.md"} | measured


def test_without_an_output_folder_files_go_to_the_current_one(bench: Bench) -> None:
    code = (
        f"import json, os; os.environ.pop('SKILLFLEET_OUTPUT_DIR'); os.chdir({str(bench.home)!r})\n"
        f"from scripts.report import write; print(json.dumps(write(json.loads({json.dumps(FINDINGS)!r}))))"
    )
    assert bench.python("text-report", code)["file"] == "report.md"
    assert (bench.home / "report.md").read_text() == REPORT


def test_a_template_of_ones_own_is_used(bench: Bench) -> None:
    template = bench.home / "template.md"
    template.write_text("<h1>$title</h1> for $$5")
    findings = bench.home / "findings.json"
    findings.write_text(json.dumps(FINDINGS))
    bench.run("text-report", "scripts/report.py", str(findings), "--template", str(template))
    assert (bench.output / "report.md").read_text() == "<h1>Petals tell species apart</h1> for $5\n"
    template.write_text("$nobody")
    refusal = bench.refusal("text-report", "scripts/report.py", str(findings), "--template", str(template))
    assert "unknown name $nobody" in refusal


def test_reading_ease_follows_fleschs_formula(bench: Bench) -> None:
    text = "The cat sat on the mat. It was happy!"  # 9 words, 2 sentences, 10 syllables
    found = json.loads(bench.run("text-report", "scripts/readability.py", "-", stdin=text).stdout)
    assert (found["words"], found["sentences"], found["ease"]) == (9, 2, "very easy")
    assert math.isclose(found["flesch"], 206.835 - 1.015 * 9 / 2 - 84.6 * 10 / 9, abs_tol=0.05)


def test_markdown_that_is_no_prose_does_not_change_the_reading_ease(bench: Bench) -> None:
    prose = "The cat sat on the mat. It was happy."
    linked = prose.replace("mat", "[mat](https://example.org/interminable)")
    markdown = f"# Extraordinary considerations\n\n{linked}\n\n| institutional |\n\n```\nincomprehensible()\n```\n"
    code = (
        "import json; from scripts.readability import measure\n"
        f"print(json.dumps([measure(text)['flesch'] for text in ({markdown!r}, {prose!r})]))"
    )
    of_markdown, of_prose = bench.python("text-report", code)
    assert of_markdown == of_prose


def test_syllables_are_counted_by_rule_of_thumb(bench: Bench) -> None:
    known = {"the": 1, "make": 1, "style": 1, "called": 1, "table": 2, "wanted": 2, "horses": 2, "syllable": 3}
    known |= {"readability": 5, "beautiful": 3, "tables": 2, "times": 1, "boxes": 2, "queue": 1}
    code = (
        "import json; from scripts.readability import syllables\n"
        f"print(json.dumps({{word: syllables(word) for word in {list(known)}}}))"
    )
    assert bench.python("text-report", code) == known


@pytest.mark.parametrize(
    ("findings", "reason"),
    [
        ("[", "not JSON"),
        ("[]", "findings must be an object"),
        ('{"title": "t", "summary": "s"}', "sections: at least one"),
        ('{"title": "t", "summary": "s", "sections": [{}]}', "sections[0].heading: a text is needed"),
        ('{"title": "t", "sections": [{"heading": "h"}]}', "summary: a text is needed"),
        (
            '{"sections": [{"heading": "h", "table": {"columns": ["a"], "rows": [[1, 2]]}}]}',
            "sections[0].table: each row needs 1 values",
        ),
    ],
)
def test_findings_of_the_wrong_shape_are_refused(bench: Bench, findings: str, reason: str) -> None:
    assert reason in bench.refusal("text-report", "scripts/report.py", "-", stdin=findings)
    assert not list(bench.output.iterdir())
