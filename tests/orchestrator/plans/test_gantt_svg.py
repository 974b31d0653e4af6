"""The chart of a plan as an SVG image."""

from xml.etree import ElementTree

from tests.orchestrator.plans.charts import States, chart, entry

from skillfleet.plans.gantt import Chart
from skillfleet.plans.gantt_svg import COLOURS, MOST_ARROWS, svg_of
from skillfleet.plans.models import ExecutionState as State

HOSTILE = "</svg><script>alert(1)</script>\x1b[31m&\"'"


def parsed(found: Chart, title: str = "Plan", subtitle: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(svg_of(found, title, subtitle))


def elements(svg: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return list(svg.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in elements(svg, "text")]


def runs(svg: ElementTree.Element) -> list[tuple[str, str]]:
    """What each bar tells, and its colour."""
    return [(rect[0].text or "", rect.get("fill", "")) for rect in elements(svg, "rect") if len(rect)]


def test_runs_are_bars_in_the_colours_of_their_states_with_the_waiting_between_them() -> None:
    svg = parsed(
        chart(
            {"a": State.COMPLETED, "b": State.SKIPPED},
            entry("started", 0, 1.0), entry("failed", 0, 2.0), entry("started", 0, 4.0), entry("result", 0, 5.5),
        ),
        "Plan 7", "failed: 1 of 2",
    )  # fmt: skip
    assert runs(svg) == [
        ("a, run 1: failed, 1 s", COLOURS[State.FAILED]),
        ("a, run 2: completed, 1.5 s", COLOURS[State.COMPLETED]),
    ]
    (waiting,) = [line for line in elements(svg, "line") if line.get("class") == "wait"]
    first, second = (rect for rect in elements(svg, "rect") if len(rect))
    assert float(waiting.get("x1", "")) == float(first.get("x", "")) + float(first.get("width", ""))
    assert waiting.get("x2") == second.get("x")
    assert texts(svg)[:5] == ["Plan 7", "failed: 1 of 2", "completed", "failed", "skipped"]
    assert {"0", "2 s", "10 s"} <= set(texts(svg))


def test_dependencies_are_arrows_unless_there_are_too_many() -> None:
    def drawn(count: int) -> int:
        states: States = {"a": State.COMPLETED} | {f"b{index}": State.COMPLETED for index in range(count)}
        needs: dict[str, tuple[str, ...]] = {f"b{index}": ("a",) for index in range(count)}
        entries = [entry("started", index, 1.0) for index in range(count + 1)]
        entries += [entry("result", index, 2.0) for index in range(count + 1)]
        return len(elements(parsed(chart(states, *entries, needs=needs)), "path"))

    assert [drawn(2), drawn(MOST_ARROWS), drawn(MOST_ARROWS + 1)] == [2, MOST_ARROWS, 0]


def test_a_run_that_took_no_time_can_be_seen() -> None:
    svg = parsed(chart({"a": State.FAILED}, entry("started", 0, 1.0), entry("result", 0, 1.0)))
    (width,) = [float(rect.get("width", "")) for rect in elements(svg, "rect") if len(rect)]
    assert width >= 2


def test_what_others_have_named_is_text_and_nothing_else() -> None:
    svg = parsed(
        chart({HOSTILE: State.COMPLETED}, entry("started", 0, 1.0), entry("result", 0, 2.0)), HOSTILE, HOSTILE
    )
    assert not elements(svg, "script")
    assert not [text for text in svg.itertext() if "\x1b" in text]
    assert texts(svg)[0].startswith("</svg><script>")


def test_long_names_are_cut_and_told_whole_by_their_bars() -> None:
    name = "x" * 100
    svg = parsed(chart({name: State.COMPLETED}, entry("started", 0, 1.0), entry("result", 0, 2.0)))
    assert name not in texts(svg)
    assert runs(svg)[0][0].startswith(name)


def test_a_plan_that_has_not_begun_has_a_chart() -> None:
    svg = parsed(chart({"a": State.PENDING}, ended=0.0))
    assert "pending" in texts(svg) and not runs(svg)
