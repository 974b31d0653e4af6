"""What workers can run together, and whose calls each of them takes (pure)."""

from itertools import permutations

import pytest

from skillfleet_workers.wire.published import MOST_ROUTES, PublishedSkill, Snapshot, merged, own_route, routes_of


def skill(
    name: str, digest: str = "d1", *, reason: str = "", route: str = "", version: str = "1.0.0"
) -> PublishedSkill:
    eligible = not reason
    return PublishedSkill(
        name=name, version=version, digest=digest, description="", eligible=eligible, reason=reason, route=route
    )


def snapshot(*skills: PublishedSkill) -> Snapshot:
    return Snapshot(skills=skills)


def the_one(*snapshots: Snapshot) -> PublishedSkill:
    (found,) = merged(snapshots).skills
    return found


def test_what_all_workers_can_run_is_published_as_it_is() -> None:
    same = snapshot(skill("lab"), skill("pdf"))
    assert merged([same, same, same]) == same
    assert routes_of(same, merged([same, same])) == ()


def test_of_a_skill_the_state_that_most_workers_can_run_holds() -> None:
    old, new = snapshot(skill("lab", "old")), snapshot(skill("lab", "new"))
    assert the_one(old, new, new).digest == "new"
    assert the_one(old, old, new).digest == "old"


def test_where_as_many_have_the_one_as_the_other_everybody_chooses_alike() -> None:
    told = [snapshot(skill("lab", digest)) for digest in ("b", "a", "c")]
    assert {the_one(*order).digest for order in permutations(told)} == {"a"}


def test_a_state_that_one_can_run_comes_before_one_that_many_cannot() -> None:
    broken, able = snapshot(skill("lab", "old", reason="no ffmpeg")), snapshot(skill("lab", "new"))
    assert (found := the_one(broken, broken, able)).eligible
    assert found.digest == "new"


def test_a_skill_that_none_can_run_is_told_with_the_reason() -> None:
    found = the_one(snapshot(skill("lab", reason="no ffmpeg", route="gpu")), snapshot(skill("lab", reason="no sox")))
    assert (found.eligible, found.reason) == (False, "no ffmpeg")


def test_a_skill_that_only_some_can_run_has_a_route_of_its_own_which_they_alone_take() -> None:
    able = snapshot(skill("lab"), skill("pdf"))
    other, broken = snapshot(skill("pdf")), snapshot(skill("lab", reason="disabled"), skill("pdf"))
    fleet = merged([able, other, broken])
    lab, pdf = fleet.skills
    assert (lab.route, pdf.route) == (own_route(skill("lab")), "")
    assert [routes_of(one, fleet) for one in (able, other, broken)] == [(lab.route,), (), ()]


def test_two_states_of_a_skill_are_not_run_for_each_other() -> None:
    old, new = snapshot(skill("lab", "old")), snapshot(skill("lab", "new"))
    fleet = merged([old, new, new])
    assert fleet.skills[0].route == own_route(skill("lab"))
    assert (routes_of(old, fleet), routes_of(new, fleet)) == ((), (own_route(skill("lab")),))


def test_two_versions_of_a_skill_that_different_workers_have_have_different_routes() -> None:
    first, second = snapshot(skill("lab")), snapshot(skill("lab", "d2", version="2.0.0"))
    fleet = merged([first, second])
    routes = [one.route for one in fleet.skills]
    assert len(set(routes)) == 2
    assert [routes_of(one, fleet) for one in (first, second)] == [(routes[0],), (routes[1],)]


def test_a_published_route_is_kept_where_all_that_serve_it_can_run_the_skill() -> None:
    able = snapshot(skill("lab", route="gpu"))
    without = snapshot(skill("lab", reason="no queue", route="gpu"))
    fleet = merged([able, without, able])
    assert fleet.skills[0].route == "gpu"
    assert (routes_of(able, fleet), routes_of(without, fleet)) == (("gpu",), ())


def test_of_two_skills_on_one_route_the_one_that_not_all_of_its_workers_have_gets_its_own() -> None:
    both = snapshot(skill("lab", route="gpu"), skill("pdf", route="gpu"))
    one = snapshot(skill("lab", route="gpu"))
    fleet = merged([both, one])
    assert [found.route for found in fleet.skills] == ["gpu", own_route(skill("pdf"))]
    assert routes_of(one, fleet) == ("gpu",)
    assert routes_of(both, fleet) == ("gpu", own_route(skill("pdf")))


def served(*snapshots: Snapshot) -> list[bool]:
    """Of each skill of the fleet, whether its calls are taken by all workers, or by one that takes its route."""
    fleet = merged(snapshots)
    taken = {"", *(route for one in snapshots for route in routes_of(one, fleet))}
    return [one.route in taken for one in fleet.skills]


def test_however_many_skills_only_one_worker_has_it_takes_the_calls_of_all() -> None:
    first, second = (snapshot(*(skill(f"{name}{n:03}") for n in range(MOST_ROUTES + 5))) for name in "ab")
    assert all(served(first, second))
    assert [len(routes_of(one, merged([first, second]))) for one in (first, second)] == [1, 1]


def test_however_many_things_skills_demand_of_a_worker_it_takes_the_calls_of_all() -> None:
    many = snapshot(*(skill(f"s{number:03}", route=f"needs-{number:08}") for number in range(MOST_ROUTES + 5)))
    poor = snapshot(*(one.model_copy(update={"eligible": False, "reason": "no sox"}) for one in many.skills))
    assert all(served(many)) and all(served(many, poor))
    assert routes_of(poor, merged([many, poor])) == ()


def test_skills_share_a_route_only_where_the_same_workers_can_run_them() -> None:
    lab, pdf, odd = (skill(name, route=f"needs-{name}") for name in ("lab", "pdf", "odd"))
    gpu = skill("gpu", route="gpu")
    fleet = merged([snapshot(gpu, lab, pdf), snapshot(gpu, lab, odd, pdf), snapshot()])
    assert [(one.name, one.route) for one in fleet.skills] == [
        ("gpu", "gpu"), ("lab", "needs-lab"), ("odd", "needs-odd"), ("pdf", "needs-lab"),
    ]  # fmt: skip


def test_a_worker_takes_a_bounded_number_of_routes() -> None:
    many = snapshot(*(skill(f"s{number:03}", route=f"q{number:03}") for number in range(MOST_ROUTES + 5)))
    assert len(routes_of(many, merged([many]))) == MOST_ROUTES


@pytest.mark.parametrize(
    ("name", "found"),
    [("lab", "1.10.0"), ("lab@1.9.0", "1.9.0"), ("lab@1.9", "1.9.0"), ("lab@2", None), ("pdf", None)],
)
def test_a_skill_is_found_by_its_name_or_by_name_and_version(name: str, found: str | None) -> None:
    kept = snapshot(skill("lab", version="1.9.0"), skill("lab", "d2", version="1.10.0"))
    assert (one.version if (one := kept.find(name)) else None) == found


@pytest.mark.parametrize("wanted", ["1.9", "1.9.0"])
def test_of_two_spellings_of_a_version_the_one_that_is_asked_for_is_found(wanted: str) -> None:
    kept = snapshot(skill("lab", version="1.9"), skill("lab", "d2", version="1.9.0"))
    assert (one := kept.find(f"lab@{wanted}")) and one.version == wanted


def test_a_version_that_can_be_run_is_found_before_a_higher_one_that_cannot() -> None:
    kept = snapshot(skill("lab", version="1.0.0"), skill("lab", "d2", version="2.0.0", reason="no ffmpeg"))
    assert (one := kept.find("lab")) and one.version == "1.0.0"
