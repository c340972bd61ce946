"""The log of decisions: what counts, that it stays whole, and that damage is found."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.growth_runs import candidate, grown
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.errors import ConflictError, NotFoundError, UsageError
from thinkeval.service.growth.candidates import decisions
from thinkeval.service.growth.review import log
from thinkeval.service.growth.review.schemas import Triplet

TRIPLET = Triplet(subject="Harry Potter", relation="studied at", object="Hogwarts")


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    with grown(db, f"{graph_id}-run", [candidate(place) for place in range(12)]) as name:
        yield name


def stored(db: Database, run: str, name: str) -> rows.CandidateRow:
    return db.read(rows.CandidateRow, run=run, ids=[name])[0]


def altered(db: Database, text: str, **params: object) -> None:
    """Change the database beside the program, as somebody in Neo4j Browser could."""
    with db._session("WRITE") as session:
        session.run(text, **params).consume()  # type: ignore[arg-type]


def test_decisions_are_recorded_with_their_evidence(db: Database, run: str) -> None:
    kept = log.decide(db, run, "c0", "keep", " ann ", reason="as in the book")
    log.decide(db, run, "c1", "prune", "ann", reason="wrong")
    log.decide(db, run, "c2", "correct", "ann", after=TRIPLET)
    assert (kept.number, kept.candidate, kept.waiting) == (1, "c0", 11)
    first, second, third = log.log_of(db, run).items
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
    assert [each.previous_digest for each in (first, second, third)] == [
        "", first.digest, second.digest,
    ]  # fmt: skip
    assert [stored(db, run, f"c{n}").state for n in range(4)] == ["new", "pruned", "new", "review"]
    assert log.verify(db, run).model_dump() == {
        "ok": True, "records": 3, "broken": None, "why": None,
    }  # fmt: skip
    assert log.log_of(db, run, "c1").items == [second]


def test_the_latest_human_decision_counts(db: Database, run: str) -> None:
    log.decide(db, run, "c0", "prune", "ann")
    log.decide(db, run, "c0", "correct", "bob", after=TRIPLET)
    assert stored(db, run, "c0").decided_by == "bob"
    log.decide(db, run, "c0", "keep", "ann")
    now = stored(db, run, "c0")
    # What bob corrected is what ann keeps, and the record says so.
    assert log.log_of(db, run).items[-1].before == TRIPLET
    assert (now.verdict, now.decided_by, now.state) == ("correct", "ann", "new")
    assert log.current(now) == TRIPLET
    assert log.log_of(db, run).total == 3


def test_neither_judge_nor_rerun_overwrites_a_person(db: Database, run: str) -> None:
    log.decide(db, run, "c0", "prune", "ann", reason="wrong")
    log.decide(db, run, "c1", "keep", "ann")
    for name in ("c0", "c1"):
        log.decide(db, run, name, "correct", "m@local", after=TRIPLET, role="judge")
    again = [candidate(0, state="validated", reason=None), candidate(1, reason="again")]
    db.write(rows.WriteCandidatesRow, run=run, rows=again)
    pruned, kept = stored(db, run, "c0"), stored(db, run, "c1")
    assert (pruned.verdict, pruned.state, pruned.reason) == ("prune", "pruned", "wrong")
    assert (pruned.judged, pruned.judge, pruned.corrected) == ("correct", "m@local", None)
    assert (kept.verdict, kept.state, kept.decided_by) == ("keep", "new", "ann")
    assert log.read_triplet(kept.judge_corrected) == TRIPLET
    assert log.current(kept).object == "Object 1"


def test_a_correction_may_give_another_question_only(db: Database, run: str) -> None:
    asked = Triplet(subject="Subject 0", relation="studied at", object="Object 0", question="Who?")
    log.decide(db, run, "c0", "correct", "ann", after=asked)
    assert log.current(stored(db, run, "c0")).question == "Who?"


def test_what_a_judge_decides_waits_on(db: Database, run: str) -> None:
    assert log.decide(db, run, "c3", "prune", "m@local", role="judge").waiting == 12


def test_a_triplet_is_added_once(db: Database, run: str) -> None:
    added = log.add(db, run, TRIPLET, "ann", reason="missing")
    now = stored(db, run, added.candidate)
    assert (now.place, now.state, now.verdict, now.kind) == (12, "new", "add", "triplet")
    assert (now.subject, now.relation, now.object) == ("Harry Potter", "studied at", "Hogwarts")
    record = log.log_of(db, run).items[0]
    assert (record.verb, record.before, record.after) == ("add", None, TRIPLET)
    there = Triplet(subject="Subject 5", relation="studied at", object="Object 5")
    for known in (TRIPLET, there):
        with pytest.raises(ConflictError, match="already"):
            log.add(db, run, known, "bob")
    assert log.verify(db, run).records == 1


def test_an_added_triplet_stays_added_whatever_is_decided_later(db: Database, run: str) -> None:
    added = log.add(db, run, TRIPLET, "ann").candidate
    given = ("Harry Potter", "studied at", "Hogwarts")
    assert decisions(db, run)[1] == [given]
    log.decide(db, run, added, "correct", "bob", after=TRIPLET.model_copy(update={"object": "H"}))
    found, triplets = decisions(db, run)
    assert triplets == [given]
    assert found[added].corrected == ("Harry Potter", "studied at", "H")
    log.decide(db, run, added, "prune", "ann")
    assert decisions(db, run)[1] == []
    log.decide(db, run, added, "keep", "ann")
    assert decisions(db, run)[1] == [given]


def test_bad_decisions_leave_no_record(db: Database, run: str) -> None:
    same = Triplet(subject="Subject 0", relation="studied at", object="Object 0")
    with pytest.raises(UsageError, match="changes nothing"):
        log.decide(db, run, "c0", "correct", "ann", after=same)
    with pytest.raises(UsageError, match="needs the corrected"):
        log.decide(db, run, "c0", "correct", "ann")
    with pytest.raises(UsageError, match="takes no corrected"):
        log.decide(db, run, "c0", "keep", "ann", after=TRIPLET)
    with pytest.raises(UsageError, match="no decision"):
        log.decide(db, run, "c0", "burn", "ann")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name of an annotator"):
        log.decide(db, run, "c0", "keep", " \n ")
    with pytest.raises(NotFoundError, match="candidate"):
        log.decide(db, run, "c99", "keep", "ann")
    with pytest.raises(NotFoundError, match=f"Did you mean '{run}'"):
        log.decide(db, run + "x", "c0", "keep", "ann")
    chain = candidate(20, kind="chain")
    db.write(rows.WriteCandidatesRow, run=run, rows=[chain])
    with pytest.raises(UsageError, match="chain cannot"):
        log.decide(db, run, "c20", "correct", "ann", after=TRIPLET)
    assert log.verify(db, run).records == 0


def test_concurrent_decisions_make_one_chain(db: Database, run: str) -> None:
    def one(number: int) -> int:
        verb = "keep" if number % 2 else "prune"
        return log.decide(db, run, f"c{number % 12}", verb, f"annotator {number % 5}").waiting

    with ThreadPoolExecutor(12) as pool:
        waiting = list(pool.map(one, range(48)))
    assert sorted({record.number for record in log.records(db, run)}) == list(range(1, 49))
    assert log.verify(db, run).ok
    # Exactly one of the first decisions about each candidate was the last that somebody waited for.
    assert sorted(waiting)[0] == 0
    assert max(waiting) == 11


def damaged(db: Database, run: str) -> None:
    for number in range(5):
        log.decide(db, run, f"c{number}", "keep", "ann", reason="as in the book")


@pytest.mark.parametrize(
    ("damage", "broken", "why"),
    [
        ("MATCH (d:Decision {id: $r}) SET d.reason = 'as in the bock'", 3, "its digest"),
        ("MATCH (d:Decision {id: $r}) SET d.evidence = []", None, None),
        ("MATCH (d:Decision {id: $r}) SET d.digest = 'x' + substring(d.digest, 1)", 3, "digest"),
        ("MATCH (d:Decision {id: $r}) DETACH DELETE d", 3, "record 3 is missing"),
        ("MATCH (d:Decision {run: $run}) WHERE d.number > 3 DETACH DELETE d", 4, "2 of 5"),
        ("MATCH (d:Decision {run: $run}) DETACH DELETE d", 1, "5 of 5"),
        ("MATCH (r:GrowthRun {id: $run}) SET r.n_decisions = 4", 5, "another end"),
    ],
)
def test_damage_is_found(
    db: Database, run: str, damage: str, broken: int | None, why: str | None
) -> None:
    damaged(db, run)
    altered(db, damage, r=f"{run}|3", run=run)
    found = log.verify(db, run)
    if broken is None:  # candidates without answers have no evidence, so nothing was changed
        assert found.ok
        return
    assert (found.ok, found.broken) == (False, broken)
    assert why is not None
    assert found.why is not None
    assert why in found.why


def test_a_record_moved_to_another_run_is_found(db: Database, run: str) -> None:
    """The digest covers the run: a whole log cannot be put in the place of another one."""
    damaged(db, run)
    with grown(db, f"{run}-2", [candidate(n) for n in range(5)]) as other:
        altered(
            db,
            "MATCH (d:Decision {run: $run}) SET d.run = $other WITH count(*) AS n"
            " MATCH (a:GrowthRun {id: $run}), (b:GrowthRun {id: $other})"
            " SET b.n_decisions = a.n_decisions, b.log_digest = a.log_digest",
            run=run,
            other=other,
        )
        found = log.verify(db, other)
    assert (found.ok, found.broken) == (False, 1)
