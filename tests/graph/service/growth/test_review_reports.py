"""The review queue, the judge's report and the agreement over a stored run."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from support.growth_runs import candidate, grown
from thinkeval.cypher.run import Database
from thinkeval.service.errors import NotFoundError, UsageError
from thinkeval.service.growth.review import judge_report, log, people, queue
from thinkeval.service.growth.review.schemas import Triplet


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
            page = queue.page(db, run, log.WAITING, limit=limit, cursor=cursor)
            assert (page.total, len(page.items) <= limit) == (8, True)
            seen += [each.id for each in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert seen == ["c0", "c1", "c3", "c4", "c6", "c7", "c9", "c10"]
    assert [each.id for each in queue.page(db, run, limit=7).items][4:6] == ["c4", "c5"]
    assert [each.id for each in queue.page(db, run, cursor="4~c4", limit=2).items] == ["c5", "c6"]
    assert queue.page(db, run, ["unknown"]).model_dump() == {"items": [], "next": None, "total": 0}


def test_a_second_person_has_a_queue_of_their_own(db: Database, run: str) -> None:
    log.decide(db, run, "c0", "keep", "ann")
    log.decide(db, run, "c1", "keep", "ann")
    log.decide(db, run, "c1", "keep", "bob")
    left = queue.page(db, run, undecided_by="bob", limit=3).items
    assert [each.id for each in left] == ["c0", "c2", "c3"]
    assert [each.id for each in queue.page(db, run, undecided_by="ann", limit=1).items] == ["c2"]


def test_a_candidate_beside_what_it_rests_on(db: Database, run: str) -> None:
    log.decide(db, run, "c0", "prune", "ann", reason="wrong")
    told = queue.detail(db, run, "c0")
    assert told.statements == ["Subject 0 studied at Object 0."]
    assert [(each.role, each.answer) for each in told.evidence] == [
        ("statement", "1. Subject 0 studied at Object 0."),
        ("validation", "Object 0"),
        ("validation", "Object 9"),
    ]
    assert [each.reason for each in told.decisions] == ["wrong"]


def test_what_is_not_there(db: Database, run: str) -> None:
    with pytest.raises(NotFoundError, match="candidate"):
        queue.detail(db, run, "c99")
    with pytest.raises(NotFoundError, match="growth run"):
        queue.page(db, f"{run}-none")
    for cursor in ("x", "1", "~c1", "1~", "-1~c1", "99999999999~c1"):
        with pytest.raises(UsageError, match="cursor"):
            queue.page(db, run, cursor=cursor)


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
        log.decide(db, run, name, verb, role, after=after, role=role)  # type: ignore[arg-type]
        final[name, role] = verb
        told[role].append(name)
    found = judge_report.stored(db, run)
    for row in [*found.rows, found.sum]:
        both = [
            (final[f"c{n}", "judge"] != "prune", final[f"c{n}", "human"] != "prune")
            for n in range(12)
            if {(f"c{n}", "judge"), (f"c{n}", "human")} <= final.keys()
            and row.iteration in (None, 1 + n // 4)
        ]
        assert row.triplets == len(both) > 0
        assert (row.tp, row.fp, row.fn, row.tn) == (
            both.count((True, True)), both.count((True, False)),
            both.count((False, True)), both.count((False, False)),
        )  # fmt: skip
    judged, touched = set(told["judge"]), set(told["human"])
    assert found.with_judge is not None
    assert (found.with_judge.n, found.with_judge.touched) == (len(judged), len(judged & touched))
    assert found.without_judge is not None
    assert found.without_judge.n == 12 - len(judged)
    assert found.without_judge.touched == len(touched - judged)
    assert log.verify(db, run).ok


def test_agreement_takes_the_last_decision_of_each_person(db: Database, run: str) -> None:
    assert people.stored(db, run).n == 0
    for who in ("ann", "bob", "cid"):
        log.decide(db, run, "c0", "keep", who)
    log.decide(db, run, "c0", "prune", "bob")
    log.decide(db, run, "c0", "prune", "judge@local", role="judge")
    added = log.add(db, run, Triplet(subject="A", relation="b", object="C"), "ann")
    log.decide(db, run, added.candidate, "keep", "bob")
    log.decide(db, run, "c2", "keep", "ann")
    found = people.stored(db, run)
    assert (found.n, found.annotators) == (2, ["ann", "bob", "cid"])
    assert (found.pairwise, found.unanimous) == (pytest.approx((1 / 3 + 1) / 2), 0.5)
