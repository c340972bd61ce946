"""Decisions: which of them count, that all or none are stored, and in one order."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.growth_runs import candidate, grown
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import ConflictError, NotFoundError, UsageError
from thinkeval.service.growth import review
from thinkeval.service.growth.candidates import decisions as decided
from thinkeval.service.growth.review import Decision
from thinkeval.service.growth.schemas import CandidateOut, Triplet

TRIPLET = Triplet(subject="Harry Potter", relation="studied at", object="Hogwarts")


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    with grown(db, f"{graph_id}-run", [candidate(place) for place in range(12)]) as name:
        yield name


def stored(db: Database, run: str, name: str) -> CandidateOut:
    return db.read(CandidateOut, "growth/candidates", run=run, ids=[name])[0]


def test_decisions_are_recorded_with_their_evidence(db: Database, run: str) -> None:
    kept = review.decide(db, run, "c0", "keep", " ann ", reason="as in the book")
    review.decide(db, run, "c1", "prune", "ann", reason="wrong")
    review.decide(db, run, "c2", "correct", "ann", after=TRIPLET)
    assert (kept.number, kept.candidate, kept.waiting) == (1, "c0", 11)
    first, second, third = review.decisions_of(db, run).items
    assert (first.by, first.role, first.verb, first.reason) == (
        "ann", "human", "keep", "as in the book",
    )  # fmt: skip
    assert first.evidence == ["a1", "a2", "a3"]
    assert (
        first.before
        == first.after
        == Triplet(subject="Subject 0", relation="studied at", object="Object 0")
    )
    assert second.after is None
    assert third.after == TRIPLET
    assert [each.number for each in (first, second, third)] == [1, 2, 3]
    assert first.at <= second.at <= third.at
    assert [stored(db, run, f"c{n}").state for n in range(4)] == ["new", "pruned", "new", "review"]
    assert review.decisions_of(db, run, "c1").items == [second]


def test_the_latest_human_decision_counts(db: Database, run: str) -> None:
    review.decide(db, run, "c0", "prune", "ann")
    review.decide(db, run, "c0", "correct", "bob", after=TRIPLET)
    assert stored(db, run, "c0").decided_by == "bob"
    review.decide(db, run, "c0", "keep", "ann")
    now = stored(db, run, "c0")
    # What bob corrected is what ann keeps, and the record says so.
    assert review.decisions_of(db, run).items[-1].before == TRIPLET
    assert (now.verdict, now.decided_by, now.state) == ("correct", "ann", "new")
    assert review.current(now) == TRIPLET
    assert review.decisions_of(db, run).total == 3


def test_neither_judge_nor_rerun_overwrites_a_person(db: Database, run: str) -> None:
    review.decide(db, run, "c0", "prune", "ann", reason="wrong")
    review.decide(db, run, "c1", "keep", "ann")
    for name in ("c0", "c1"):
        review.decide(db, run, name, "correct", "m@local", after=TRIPLET, role="judge")
    again = [candidate(0, state="validated", reason=None), candidate(1, reason="again")]
    db.write(rows.WrittenRow, "growth/write_candidates", run=run, rows=again)
    pruned, kept = stored(db, run, "c0"), stored(db, run, "c1")
    assert (pruned.verdict, pruned.state, pruned.reason) == ("prune", "pruned", "wrong")
    assert (pruned.judged, pruned.judge, pruned.corrected) == ("correct", "m@local", None)
    assert (kept.verdict, kept.state, kept.decided_by) == ("keep", "new", "ann")
    assert kept.judge_corrected == TRIPLET
    assert review.current(kept).object == "Object 1"


def test_a_correction_may_give_another_question_only(db: Database, run: str) -> None:
    asked = Triplet(subject="Subject 0", relation="studied at", object="Object 0", question="Who?")
    review.decide(db, run, "c0", "correct", "ann", after=asked)
    assert review.current(stored(db, run, "c0")).question == "Who?"


def test_what_a_judge_decides_waits_on(db: Database, run: str) -> None:
    assert review.decide(db, run, "c3", "prune", "m@local", role="judge").waiting == 12


def test_a_triplet_is_added_once(db: Database, run: str) -> None:
    added = review.record(db, run, [Decision(None, "keep", "ann", TRIPLET, "missing")])
    now = stored(db, run, added.candidate)
    assert (now.place, now.state, now.verdict, now.kind) == (12, "new", "add", "triplet")
    assert (now.subject, now.relation, now.object) == ("Harry Potter", "studied at", "Hogwarts")
    kept = review.decisions_of(db, run).items[0]
    assert (kept.verb, kept.before, kept.after) == ("add", None, TRIPLET)
    there = Triplet(subject="Subject 5", relation="studied at", object="Object 5")
    for known in (TRIPLET, there):
        with pytest.raises(ConflictError, match="already"):
            review.record(db, run, [Decision(None, "keep", "bob", known)])
    assert review.decisions_of(db, run).total == 1


def test_an_added_triplet_stays_added_whatever_is_decided_later(db: Database, run: str) -> None:
    added = review.record(db, run, [Decision(None, "keep", "ann", TRIPLET)]).candidate
    given = ("Harry Potter", "studied at", "Hogwarts")
    assert decided(db, run)[1] == [given]
    review.decide(
        db, run, added, "correct", "bob", after=TRIPLET.model_copy(update={"object": "H"})
    )
    found, triplets = decided(db, run)
    assert triplets == [given]
    assert found[added].corrected == ("Harry Potter", "studied at", "H")
    review.decide(db, run, added, "prune", "ann")
    assert decided(db, run)[1] == []
    review.decide(db, run, added, "keep", "ann")
    assert decided(db, run)[1] == [given]


def test_bad_decisions_leave_no_record(db: Database, run: str) -> None:
    same = Triplet(subject="Subject 0", relation="studied at", object="Object 0")
    with pytest.raises(UsageError, match="changes nothing"):
        review.decide(db, run, "c0", "correct", "ann", after=same)
    with pytest.raises(UsageError, match="needs the corrected"):
        review.decide(db, run, "c0", "correct", "ann")
    with pytest.raises(UsageError, match="takes no corrected"):
        review.decide(db, run, "c0", "keep", "ann", after=TRIPLET)
    with pytest.raises(UsageError, match="no decision"):
        review.decide(db, run, "c0", "burn", "ann")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name of an annotator"):
        review.decide(db, run, "c0", "keep", " \n ")
    with pytest.raises(NotFoundError, match="candidate"):
        review.decide(db, run, "c99", "keep", "ann")
    with pytest.raises(NotFoundError, match=f"Did you mean '{run}'"):
        review.decide(db, run + "x", "c0", "keep", "ann")
    chain = candidate(20, kind="chain")
    db.write(rows.WrittenRow, "growth/write_candidates", run=run, rows=[chain])
    with pytest.raises(UsageError, match="chain cannot"):
        review.decide(db, run, "c20", "correct", "ann", after=TRIPLET)
    assert review.decisions_of(db, run).total == 0


def test_concurrent_decisions_have_one_order(db: Database, run: str) -> None:
    def one(number: int) -> int:
        verb = "keep" if number % 2 else "prune"
        return review.decide(db, run, f"c{number % 12}", verb, f"annotator {number % 5}").waiting

    with ThreadPoolExecutor(12) as pool:
        waiting = list(pool.map(one, range(48)))
    numbers = [each.number for each in review.decisions_of(db, run).items]
    assert numbers == list(range(1, 49))
    # Exactly one of the first decisions about each candidate was the last that somebody waited for.
    assert sorted(waiting)[0] == 0
    assert max(waiting) == 11


def test_many_decisions_are_stored_in_their_order(db: Database, run: str) -> None:
    done = review.record(
        db,
        run,
        [
            Decision("c0", "keep", "ann"),
            Decision("c1", "prune", "bob", reason="wrong"),
            Decision(None, "keep", "ann", TRIPLET),
            Decision("c0", "prune", "bob"),
        ],
    )
    assert (done.number, done.recorded, done.waiting) == (4, 4, 10)
    found = review.decisions_of(db, run).items
    assert [(d.verb, d.by, d.reason) for d in found] == [
        ("keep", "ann", None), ("prune", "bob", "wrong"), ("add", "ann", None),
        ("prune", "bob", None),
    ]  # fmt: skip
    assert stored(db, run, "c0").verdict == "prune"


def test_none_of_many_is_stored_where_one_is_refused(db: Database, run: str) -> None:
    bad = Decision("c99", "keep", "ann", where="d.csv, line 3")
    with pytest.raises(NotFoundError, match="candidate") as caught:
        review.record(db, run, [Decision("c0", "prune", "ann"), bad])
    assert caught.value.detail.startswith("d.csv, line 3: ")
    assert review.decisions_of(db, run).total == 0
    assert stored(db, run, "c0").verdict is None
    with pytest.raises(UsageError, match="no decision to record"):
        review.record(db, run, [])
