"""The review queue, and the table of judge and people, over a stored run."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from support.growth_runs import candidate, grown
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.growth import review
from thinkeval.service.growth.schemas import JudgeRow, Triplet


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    states = ["review", "conflict", "validated"]
    # Two candidates share a place, as one that was added meanwhile may with one that was found.
    made = [candidate(n, state=states[n % 3]) for n in range(12)]
    made[5]["place"] = 4
    with grown(db, f"{graph_id}-run", made) as name:
        yield name


def test_pages_hold_every_candidate_once(db: Database, run: str) -> None:
    for limit in (1, 2, 5, 12, 50):
        seen: list[str] = []
        cursor = None
        while True:
            page = review.page(db, run, review.WAITING, limit=limit, cursor=cursor)
            assert (page.total, len(page.items) <= limit) == (8, True)
            seen += [each.id for each in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert seen == ["c0", "c1", "c3", "c4", "c6", "c7", "c9", "c10"]
    assert [each.id for each in review.page(db, run, limit=7).items][4:6] == ["c4", "c5"]
    assert [each.id for each in review.page(db, run, cursor="4~c4", limit=2).items] == ["c5", "c6"]
    assert review.page(db, run, ["unknown"]).model_dump() == {"items": [], "next": None, "total": 0}


def test_a_second_person_has_a_queue_of_their_own(db: Database, run: str) -> None:
    review.decide(db, run, "c0", "keep", "ann")
    review.decide(db, run, "c1", "keep", "ann")
    review.decide(db, run, "c1", "keep", "bob")
    left = review.page(db, run, undecided_by="bob", limit=3).items
    assert [each.id for each in left] == ["c0", "c2", "c3"]
    assert [each.id for each in review.page(db, run, undecided_by="ann", limit=1).items] == ["c2"]


def test_a_candidate_beside_what_it_rests_on(db: Database, run: str) -> None:
    review.decide(db, run, "c0", "prune", "ann", reason="wrong")
    told = review.detail(db, run, "c0")
    assert told.statements == ["Subject 0 studied at Object 0."]
    assert [(each.role, each.answer) for each in told.evidence] == [
        ("statement", "1. Subject 0 studied at Object 0."),
        ("validation", "Object 0"),
        ("validation", "Object 9"),
    ]
    assert [each.reason for each in told.decisions] == ["wrong"]


def test_what_is_not_there(db: Database, run: str) -> None:
    with pytest.raises(NotFoundError, match="candidate"):
        review.detail(db, run, "c99")
    with pytest.raises(NotFoundError, match="growth run"):
        review.page(db, f"{run}-none")
    for cursor in ("x", "1", "~c1", "1~", "-1~c1", "99999999999~c1"):
        with pytest.raises(UsageError, match="cursor"):
            review.page(db, run, cursor=cursor)


def test_the_judge_against_people_by_brute_force(db: Database, run: str) -> None:
    rng = random.Random(5)
    other = Triplet(subject="A", relation="b", object="C")
    told: dict[str, list[str]] = {"human": [], "judge": []}
    final: dict[tuple[str, str], str] = {}
    for _ in range(40):
        name, role = f"c{rng.randrange(12)}", rng.choice(["human", "judge"])
        verb = rng.choice(["keep", "prune", "correct"])
        after = None
        if verb == "correct":
            after = other.model_copy(update={"object": f"C{rng.random()}"})
        review.decide(db, run, name, verb, role, after=after, role=role)  # type: ignore[arg-type]
        final[name, role] = verb
        told[role].append(name)
    found = review.judge_rows(db, run)
    assert [row.iteration for row in found] == [1, 2, 3, None]
    for row in found:
        names = [f"c{n}" for n in range(12) if row.iteration in (None, 1 + n // 4)]
        both = [
            (final[name, "judge"] != "prune", final[name, "human"] != "prune")
            for name in names
            if {(name, "judge"), (name, "human")} <= final.keys()
        ]
        assert row.judged == sum((name, "judge") in final for name in names)
        assert row.both == len(both) > 0
        assert (row.tp, row.fp, row.fn, row.tn) == (
            both.count((True, True)), both.count((True, False)),
            both.count((False, True)), both.count((False, False)),
        )  # fmt: skip
        kept = [person for judged, person in both if judged]
        assert row.precision == (sum(kept) / len(kept) if kept else None)
    assert found[-1].judged == len(set(told["judge"])) > found[-1].both


def test_agreement_takes_the_last_decision_of_each_person(db: Database, run: str) -> None:
    def over_all() -> JudgeRow:
        return review.judge_rows(db, run)[-1]

    assert review.judge_rows(db, run) == []
    for who in ("ann", "bob", "cid"):
        review.decide(db, run, "c0", "keep", who)
    review.decide(db, run, "c0", "prune", "bob")
    review.decide(db, run, "c0", "prune", "judge@local", role="judge")
    added = review.record(
        db,
        run,
        [review.Decision(None, "keep", "ann", Triplet(subject="A", relation="b", object="C"))],
    )
    review.decide(db, run, added.candidate, "keep", "bob")
    review.decide(db, run, "c2", "keep", "ann")
    found = over_all()
    assert (found.rated, found.pairwise, found.unanimous) == (
        2, pytest.approx((1 / 3 + 1) / 2), 0.5,
    )  # fmt: skip
    # Bob's prune is the latest decision about c0, and the judge prunes it, too.
    assert (found.judged, found.both, found.tn) == (1, 1, 1)
    review.decide(db, run, "c4", "keep", "ann")
    review.decide(db, run, "c4", "prune", "bob")
    first, second, total = review.judge_rows(db, run)
    assert [(row.iteration, row.rated) for row in (first, second, total)] == [
        (1, 2), (2, 1), (None, 3),
    ]  # fmt: skip
    assert (second.unanimous, total.unanimous) == (0, pytest.approx(1 / 3))
