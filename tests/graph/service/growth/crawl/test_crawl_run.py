"""Crawls over a real database, of a model that continues texts from a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.endpoints.cloze_model import ClozeModel
from support.endpoints.scripted_model import Stopped
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import (
    Entity,
    Fact,
    ImportReport,
    KnowledgeGraph,
    LoadedGraph,
    RewriteRequest,
    unique,
)
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.growth import control
from thinkeval.service.growth.crawl_report import crawl_report
from thinkeval.service.growth.kind import GROWTH
from thinkeval.service.growth.loop import Outcome
from thinkeval.service.growth.open_endpoint import Opened
from thinkeval.service.growth.request import prepare
from thinkeval.service.growth.review import Decision
from thinkeval.service.growth.run import Attempt
from thinkeval.service.growth.runs import require_run
from thinkeval.service.growth.schemas import CandidateOut, GrowthIn, Triplet
from thinkeval.service.scoring.runtime import Runtime

TRUE = (
    ("Harry", "studied at", "Hogwarts School of Witchcraft and Wizardry"),
    ("Harry", "was friends with", "Ron"),
    ("Harry", "was friends with", "Hermione"),
    ("Ron", "studied at", "Hogwarts School of Witchcraft and Wizardry"),
    ("Hermione", "was friends with", "Ron"),
    ("Draco", "studied at", "Durmstrang"),
)
"""Draco's fact cannot be reached."""
SCHOOL = TRUE[0][2]
KINDS = {"Durmstrang": "school", SCHOOL: "school"}
ANSWERS = {
    "Harry is a": "person.",
    "Ron is a": "person.",
    "Hermione is a": "person.",
    "Draco is a": "person.",
    f"{SCHOOL} is a": "school.",
    "Dobby is a": "rock.",
    "Harry studied at": f"{SCHOOL}.",
    "Harry went to": f"{SCHOOL}.",
    "Harry was friends with": ("Ron and Hermione.", "Hermione and Ron.", "Ron, Hermione and Dobby"),
    "Harry was close to": ("Ron.", "Ron and Hermione.", "Hermione and Ron"),
    "Ron studied at": f"{SCHOOL}.",
    "Ron went to": f"{SCHOOL}.",
    "Hermione studied at": ("Durmstrang.", "Beauxbatons.", "nobody knows."),
    "Hermione was friends with": "Dobby and Ron.",
    "Hermione was close to": "Ron and Dobby.",
}
VALIDATED = {
    'Which name completes the statement "Harry was friends with': ("Luna.", *("Ron.",) * 4)
}
"""Answers to the question that validates a friend of Harry's."""
Crawl = Callable[..., tuple[str, Outcome]]


def true_graph(name: str) -> KnowledgeGraph:
    facts = tuple(
        Fact(s, r, o, "{} " + r, (), ("{} went to",) if r == "studied at" else ("{} was close to",))
        for s, r, o in TRUE
    )
    names = unique(x for s, _, o in TRUE for x in (s, o))
    request = RewriteRequest(
        f"{name}--harry", name, "{} studied at", "Harry", "studied at", SCHOOL, "Durmstrang"
    )
    entities = tuple(
        Entity(n, ("Hogwarts",) if n == SCHOOL else (), KINDS.get(n, "person")) for n in names
    )
    return KnowledgeGraph(name, entities, facts, (request,))


@pytest.fixture
def truth(db: Database, graph_id: str) -> str:
    name = f"{graph_id}-truth"
    report = ImportReport("made here", "test", {}, {})
    return datasets.store(db, LoadedGraph(true_graph(name), report)).graph


@pytest.fixture
def crawl(db: Database, runtime: Runtime, graph_id: str, truth: str) -> Iterator[Crawl]:
    made: list[str] = []

    def run(
        model: ClozeModel, *, start: str = "Harry", name: str = "", seed: int = 0, **knobs: Any
    ) -> tuple[str, Outcome]:
        posted = GrowthIn.model_validate(
            {
                "answers": {"model": "cloze", "url": "http://test/v1"},
                "seed": start,
                "graph": graph_id + name,
                "base": truth,
                "elicit": "crawl",
                "single_link": False,
                "random_seed": seed,
                "crawl": {"samples": 3} | knobs,
            }
        )
        prepared = prepare(db, posted)
        made.append(prepared.id)
        db.atomically(lambda tx: GROWTH.store.enqueue(tx, runtime.settings, prepared))
        attempt = Attempt(runtime, prepared.id, prepared.request, open=lambda *_: Opened(model))
        return prepared.id, attempt.run()

    yield run
    for name in set(made):
        db.autocommit(int, "growth/delete_run", id=name)


def stored(db: Database, graph: str) -> dict[tuple[str, str, str], float | None]:
    return {
        (f.subject, f.relation, f.object): f.p_pre
        for f in db.read(rows.FactRow, "graph/facts", graph=graph)
    }


def picture(db: Database, run: str, graph: str) -> tuple[Any, ...]:
    return (
        datasets.stored_graph(db, graph).facts,
        stored(db, graph),
        db.read(CandidateOut, "growth/candidates", run=run),
        [(r.number, r.triplets, r.calls) for r in require_run(db, run).iterations],
    )


EXPECTED = {
    **dict.fromkeys(TRUE[:5], 1.0),
    TRUE[1]: 1.0,
    TRUE[2]: 5 / 6,
    ("Hermione", "was friends with", "Dobby"): 1.0,
}


def test_a_graph_is_crawled_and_can_be_scored(db: Database, crawl: Crawl, graph_id: str) -> None:
    model = ClozeModel(ANSWERS)
    run, outcome = crawl(model)
    assert outcome.reason == "frontier empty"
    assert stored(db, graph_id) == pytest.approx(EXPECTED)
    keys = [request.id(model.id) for request in model.asked]
    assert len(keys) == len(set(keys))
    # Its rewrite requests are those of the truth whose facts were found.
    assert [r.target_new for r in datasets.list_rewrites(db, graph_id)] == ["Durmstrang"]
    found = {
        (c.subject, c.relation, c.object): c
        for c in db.read(CandidateOut, "growth/candidates", run=run)
    }
    dobby = found["Harry", "was friends with", "Dobby"]
    assert (dobby.state, (dobby.checks or {})["agree"]) == ("discarded", 0.5)
    durmstrang = found["Hermione", "studied at", "Durmstrang"]
    assert (durmstrang.state, durmstrang.statements) == ("unknown", ["Durmstrang."])
    ron = found["Harry", "was friends with", "Ron"]
    assert ron.statements


def correct(db: Database, settings: Settings, run: str, found: tuple[str, ...], to: str) -> None:
    """Correct the object of a candidate, as a reviewer does."""
    [one] = [
        c for c in db.read(CandidateOut, "growth/candidates", run=run)
        if (c.subject, c.relation, c.object) == found
    ]  # fmt: skip
    after = Triplet(subject=found[0], relation=found[1], object=to)
    control.decide(db, settings, run, [Decision(one.id, "correct", "ann", after)])


def test_a_corrected_object_is_asked_in_place_of_the_one_that_was_found(
    db: Database, runtime: Runtime, crawl: Crawl, graph_id: str
) -> None:
    friend = ("Harry", "was friends with")
    table = (
        ANSWERS
        | VALIDATED
        | {
            "Harry was friends with": (
                "Ron and Hermione.",
                "Hermione and Ron.",
                "Hermione and Luna.",
            ),
            "Luna is a": "person.",
            "Luna studied at": "Durmstrang.",
            "Luna went to": "Durmstrang.",
        }
    )
    model = ClozeModel(table)
    run, _ = crawl(model)
    assert not any("Luna" in r.messages[0].text for r in model.asked)
    correct(db, runtime.settings, run, (*friend, "Hermione"), "Luna")
    _, outcome = crawl(model)
    assert outcome.reason == "frontier empty"
    known = stored(db, graph_id)
    assert known[*friend, "Luna"] == 0.2  # one of five answers
    assert known["Luna", "studied at", "Durmstrang"] == 1.0
    assert not any("Hermione" in fact for fact in known)
    keys = [request.id(model.id) for request in model.asked]
    assert len(keys) == len(set(keys))


def test_what_invented_subjects_get_is_stored_and_filters_nothing(
    db: Database, crawl: Crawl, graph_id: str
) -> None:
    plain, _ = crawl(ClozeModel(ANSWERS))
    guessing = {"Zorbo Quux studied at": f"{SCHOOL}.", "Zorbo Quux was close to": "Zoe Quint."}
    run, _ = crawl(ClozeModel(ANSWERS | guessing), name="-invented", invented=2)
    assert stored(db, f"{graph_id}-invented") == stored(db, graph_id)

    def checks(run: str) -> dict[tuple[str, ...], dict[str, Any]]:
        found = db.read(CandidateOut, "growth/candidates", run=run)
        return {(c.subject, c.relation, c.object): c.checks or {} for c in found}

    checked = checks(run)
    # One of two subjects, by one of two wordings.
    school = checked["Harry", "studied at", SCHOOL]
    assert (school["invented"], school["lift"]) == (0.25, 4.0)
    ron = checked["Harry", "was friends with", "Ron"]
    assert (ron["invented"], ron["lift"]) == (0.0, None)
    assert checked.keys() == checks(plain).keys()
    assert all("invented" not in each and "lift" not in each for each in checks(plain).values())


@pytest.mark.parametrize(
    "answer",
    [
        ("Ron and Hermione.", "Hermione and Ron.", "Hermione and Luna."),
        ("Ron and Hermione.", "Hermione and Ron.", "Hermione."),
    ],
    ids=["below the thresholds", "not named in the crawl"],
)
def test_a_correction_in_the_last_level_is_validated(
    db: Database, runtime: Runtime, crawl: Crawl, graph_id: str, answer: tuple[str, ...]
) -> None:
    friend = ("Harry", "was friends with")
    model = ClozeModel(ANSWERS | VALIDATED | {"Harry was friends with": answer})
    run, outcome = crawl(model, depth=1)
    assert outcome.reason == "depth"
    correct(db, runtime.settings, run, (*friend, "Hermione"), "Luna")
    _, outcome = crawl(model, depth=1)
    assert outcome.reason == "depth"
    assert stored(db, graph_id)[*friend, "Luna"] == 0.2
    assert not any(r.messages[0].text.startswith("Luna") for r in model.asked)


def test_the_report_counts_what_was_found(db: Database, crawl: Crawl) -> None:
    run, _ = crawl(ClozeModel(ANSWERS))
    told = crawl_report(db, run)
    assert (told.facts, told.start, told.stop_reason) == (6, "Harry", "frontier empty")
    assert told.confirmed == len(set(EXPECTED) & set(TRUE)) == 5
    assert [level.facts for level in told.levels][:2] == [3, 3]
    assert told.questions == sum(level.questions for level in told.levels)


@pytest.mark.parametrize("stops", [(1,), (7, 8), (23, 40)])
def test_killed_and_continued_it_is_the_same_graph_and_asks_nothing_twice(
    db: Database, crawl: Crawl, graph_id: str, stops: tuple[int, ...]
) -> None:
    whole = ClozeModel(ANSWERS)
    reference, _ = crawl(whole, name="-whole")
    model = ClozeModel(ANSWERS)
    for stop in stops:
        model.stop_at = stop
        with pytest.raises(Stopped):
            crawl(model)
    model.stop_at = None
    run, _ = crawl(model)
    assert picture(db, run, graph_id)[1:] == picture(db, reference, f"{graph_id}-whole")[1:]
    keys = [request.id(model.id) for request in model.asked]
    # A part whose process was killed before it was stored is asked again, no more than that.
    assert len(keys) - len(set(keys)) <= 5 * len(stops)
    assert set(keys) == {request.id(whole.id) for request in whole.asked}
    usage = db.read(rows.UsageRow, "growth/usage", run=run)
    assert sum(row.calls for row in usage) == len(set(keys))


def test_the_budget_ends_a_crawl_without_an_error(db: Database, crawl: Crawl, truth: str) -> None:
    run, outcome = crawl(ClozeModel(ANSWERS), max_questions=3)
    assert (outcome.state, outcome.reason) == ("finished", "budget")
    assert crawl_report(db, run).questions == 3


def test_depth_0_asks_nothing_and_stores_no_graph(
    db: Database, crawl: Crawl, graph_id: str, truth: str
) -> None:
    model = ClozeModel(ANSWERS)
    run, outcome = crawl(model, depth=0)
    assert (outcome.reason, model.asked) == ("depth", [])
    told = crawl_report(db, run)
    assert (told.facts, told.questions, told.levels) == (0, 0, [])


def test_a_model_that_knows_nothing_gives_an_empty_report(
    db: Database, crawl: Crawl, truth: str
) -> None:
    for name, text in (("-a", ""), ("-b", "nobody knows"), ("-c", "x, " * 5000)):
        run, outcome = crawl(ClozeModel({}, otherwise=text), name=name)
        told = crawl_report(db, run)
        assert outcome.reason == "frontier empty"
        if name != "-c":
            assert (told.facts, told.unknown) == (0, 2)


def test_bad_requests(db: Database, crawl: Crawl, truth: str) -> None:
    with pytest.raises(NotFoundError, match="Harri") as missing:
        crawl(ClozeModel({}), start="Harri")
    assert missing.value.suggestions == ["Harry"]
    with pytest.raises(NotFoundError, match="growth run"):
        crawl_report(db, "grow-nothing")
    with pytest.raises(UsageError):
        crawl(ClozeModel({}), start="...")
