"""Knowledge sets and runs in the real database; their metrics against brute force."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.own_graphs import atlas_as
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.cypher.run import Database
from thinkeval.loaders import graphs, rules
from thinkeval.loaders.knowledge_sets import KnowledgeSet
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.base.errors import (
    ConflictError,
    NotFoundError,
    NothingStoredError,
    UsageError,
)
from thinkeval.service.depedit import report, store
from thinkeval.service.depedit import report as metrics
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.report import METRICS
from thinkeval.service.depedit.sets import SetOptions, build, draw, material_of
from thinkeval.service.depedit.store import Answer, RunRecord
from thinkeval.service.graphs import datasets
from thinkeval.service.models.depedit import Fraction, Question
from thinkeval.service.rules import store as rule_store
from thinkeval.service.rules.mining import mine

WORDS = ("yes", "no", "perhaps")


@pytest.fixture
def atlas(db: Database, graph_id: str) -> Iterator[str]:
    """The bundled graph and its rules under an id of one's own; sets of it go afterwards."""
    yield atlas_as(db, graph_id)
    for row in store.list_sets(db):
        if row.dataset == graph_id or row.id.startswith(graph_id):
            store.delete_set(db, row.id)
    rule_store.delete(db, graph_id)


@pytest.fixture
def saved(db: Database, atlas: str) -> KnowledgeSet:
    """A small set in which copies keep, update and lose implications."""
    options = SetOptions(facts=12, implications=6, updates=5, unrelated=3, seed=4)
    knowledge = build(db, atlas, options).sets[0]
    store.save_set(db, knowledge)
    return knowledge


def said(knowledge: KnowledgeSet, seed: int) -> list[Answer]:
    """Answers right, wrong and as before by turns."""
    rng = random.Random(seed)
    given: dict[str, str] = {}
    for question in questions(knowledge):
        before = given.get(question.established or "")
        choices = [question.expected or "none", before or "nothing", rng.choice(WORDS)]
        given[question.id] = rng.choice(choices)
    return [Answer(id, f"  {text}\n") for id, text in given.items()]


def by_hand(asked: Sequence[Question], answers: Sequence[Answer]) -> dict[str, Fraction]:
    """The seven metrics as the paper writes them, copy by copy."""
    said_to = {answer.question: answer.answer.strip() for answer in answers}

    def share(hits: list[list[bool]]) -> Fraction:
        some = [copy for copy in hits if copy]
        value = sum(sum(copy) / len(copy) for copy in some) / len(some) if some else None
        return Fraction(value, sum(map(len, some)), len(some))

    def pick(role: str, *changes: str, before: bool = False) -> Fraction:
        copies = sorted({q.copy for q in asked if q.copy is not None})
        hits = []
        for copy in copies:
            chosen = [q for q in asked if (q.copy, q.role) == (copy, role) and q.change in changes]
            wanted = [said_to[q.established or ""] if before else q.expected for q in chosen]
            hits.append([said_to[q.id] == w for q, w in zip(chosen, wanted, strict=True)])
        return share(hits)

    def first(role: str) -> Fraction:
        chosen = [q for q in asked if q.copy is None and q.role == role]
        return share([[said_to[q.id] == q.expected for q in chosen]])

    return {
        "est_s": first("specific"),
        "est_i": first("implication"),
        "upd_s": pick("specific", "updated"),
        "upd_i": pick("implication", "updated", "new"),
        "cons_ns": pick("specific", "kept", before=True),
        "cons_u": pick("unrelated", "kept", before=True),
        "cons_ni": pick("implication", "kept", before=True),
    }


def first_drawn(
    db: Database, atlas: str, options: SetOptions, wanted: Callable[[KnowledgeSet], bool]
) -> KnowledgeSet:
    """The set of the first seed that is as wanted."""
    material = material_of(datasets.stored_graph(db, atlas))
    laws = [stored.rule for stored in rule_store.rules_of(db, atlas)]
    drawn = (draw(material, law, replace(options, seed=seed)) for seed in range(40) for law in laws)
    return next(filter(wanted, drawn))


def same(found: dict[str, Fraction], expected: dict[str, Fraction]) -> None:
    assert tuple(found) == METRICS
    for name, share in expected.items():
        assert (found[name].n, found[name].copies) == (share.n, share.copies), name
        assert found[name].value == pytest.approx(share.value, abs=1e-12), name


@pytest.mark.parametrize("setting", ["CQ_DT", "CQ_UT", "ICQ_DT"])
def test_a_set_comes_back_as_it_was_saved(db: Database, atlas: str, setting: str) -> None:
    built = build(db, atlas, SetOptions(setting=setting)).sets
    assert len(built) == 3
    for knowledge in built:
        assert store.save_set(db, knowledge).status == "saved"
        assert store.save_set(db, knowledge).status == "unchanged"
        assert store.load_set(db, knowledge.id) == knowledge
    listed = {row.id: row for row in store.list_sets(db, dataset=atlas, setting=setting)}
    assert set(listed) == {knowledge.id for knowledge in built}
    for row in listed.values():
        counts = (row.n_specific, row.n_unrelated, row.n_implications, row.n_copies, row.n_runs)
        assert counts == (24, 5, 12, 3, 0)


def test_another_set_of_that_id_needs_replace(db: Database, saved: KnowledgeSet) -> None:
    other = replace(saved, copies=saved.copies[:2])
    with pytest.raises(ConflictError, match="other content"):
        store.save_set(db, other)
    assert store.load_set(db, saved.id) == saved
    assert store.save_set(db, other, replace=True).status == "replaced"
    assert store.load_set(db, saved.id) == other


@pytest.mark.parametrize("seed", range(4))
def test_metrics_are_those_of_brute_force(db: Database, saved: KnowledgeSet, seed: int) -> None:
    answers = said(saved, seed)
    run = RunRecord(saved.id, "finetune", None, "model", {"seed": seed})
    random.Random(seed).shuffle(answers)
    assert store.save_run(db, run, answers) == run.id
    same(metrics.metrics_of(db, run.id), by_hand(questions(saved), answers))


def test_right_answers_and_stubborn_ones(db: Database, saved: KnowledgeSet) -> None:
    asked = questions(saved)
    right = [Answer(q.id, q.expected or "nothing") for q in asked]
    known = {q.id: q.expected for q in asked if q.copy is None}
    stubborn = [Answer(q.id, known.get(q.established or q.id) or "nothing") for q in asked]
    runs = [RunRecord(saved.id, name, None, "model") for name in ("right", "stubborn")]
    for run, answers in zip(runs, (right, stubborn), strict=True):
        store.save_run(db, run, answers)
    found = metrics.metrics_of_runs(db, [run.id for run in runs])
    assert {share.value for share in found[runs[0].id].values()} == {1.0}
    values = {name: share.value for name, share in found[runs[1].id].items()}
    assert values == {
        "est_s": 1, "est_i": 1, "upd_s": 0, "upd_i": 0, "cons_ns": 1, "cons_u": 1, "cons_ni": 1
    }  # fmt: skip


def test_what_was_not_asked_is_undefined(db: Database, atlas: str) -> None:
    """Every fact updated and none unrelated: nothing is left to be consistent about."""
    options = SetOptions(facts=8, implications=4, updates=8, unrelated=0, copies=2)
    knowledge = first_drawn(db, atlas, options, lambda k: not any(c.kept for c in k.copies))
    store.save_set(db, knowledge)
    run = RunRecord(knowledge.id, "base", None, "model")
    store.save_run(db, run, said(knowledge, 0))
    found = metrics.metrics_of(db, run.id)
    for name in ("cons_ns", "cons_u", "cons_ni"):
        assert found[name] == Fraction(None, 0, 0)
    assert found["upd_s"].n == 16
    told = report.text(report.methods(db, dataset=atlas), ["specificity"], "json")
    row = next(row for row in json.loads(told)["specificity"] if row["Method"] == "base")
    assert row["n Cons.U"] == 0
    assert row["Cons.U (%)"] is None
    assert row["n Est.S"] == 1
    assert (row["answers Cons.U"], row["low Cons.U (%)"]) == (0, None)


def test_a_copy_without_such_questions_does_not_count(db: Database, atlas: str) -> None:
    options = SetOptions(facts=8, implications=4, updates=5, unrelated=1)
    knowledge = first_drawn(
        db, atlas, options, lambda k: 0 < sum(bool(copy.kept) for copy in k.copies) < 3
    )
    store.save_set(db, knowledge)
    run = RunRecord(knowledge.id, "base", None, "model")
    answers = said(knowledge, 3)
    store.save_run(db, run, answers)
    found = metrics.metrics_of(db, run.id)
    assert 0 < found["cons_ni"].copies < 3
    same(found, by_hand(questions(knowledge), answers))


def test_a_run_is_replaced_and_deleted_with_its_answers(db: Database, saved: KnowledgeSet) -> None:
    run = RunRecord(saved.id, "forwchain", "memit", "model", {"lr": 0.5}, seconds=1.5)
    for seed in (0, 1):
        store.save_run(db, run, said(saved, seed))
    listed = store.list_runs(db, sets=[saved.id])
    assert [(r.id, r.method, r.n_answers, r.seconds) for r in listed] == [
        (run.id, "memit+forwchain", len(questions(saved)), 1.5)
    ]
    answers = store.answers_of(db, run.id)
    assert [a.question for a in answers] == [q.id for q in questions(saved)]
    assert {a.question: a.answer for a in answers} == {
        a.question: a.answer.strip() for a in said(saved, 1)
    }
    told = {a.question: a.answer for a in answers}
    for answer, question in zip(answers, questions(saved), strict=True):
        assert answer.established == told.get(question.established or "")
    store.delete_run(db, run.id)
    assert not store.list_runs(db, sets=[saved.id])
    with pytest.raises(NotFoundError):
        metrics.metrics_of(db, run.id)
    assert store.load_set(db, saved.id) == saved


def test_answers_that_do_not_fit_are_refused(db: Database, saved: KnowledgeSet) -> None:
    run = RunRecord(saved.id, "base", None, "model")
    answers = said(saved, 0)
    strange = Answer(f"{saved.id}|9|specific|0", "x")
    for wrong in (answers[1:], [*answers, strange], [*answers, answers[0]]):
        with pytest.raises(UsageError, match="do not fit"):
            store.save_run(db, run, wrong)
    with pytest.raises(NotFoundError, match="knowledge set"):
        store.save_run(db, RunRecord(f"{saved.id}x", "base", None, "model"), answers)
    assert not store.list_runs(db, sets=[saved.id])


def test_a_run_is_stored_whole_or_not_at_all(db: Database, saved: KnowledgeSet) -> None:
    """The query itself, given an answer to nothing, rolls back with the run before it intact."""
    run = RunRecord(saved.id, "base", None, "model")
    store.save_run(db, run, said(saved, 0))
    with pytest.raises(GraphError), db.transaction() as tx:
        tx.run(
            rows.WrittenRow,
            "depedit/merge_run",
            id=run.id,
            knowledge_set=saved.id,
            strategy="base",
            editor=None,
            method="base",
            model="model",
            hparams="{}",
            seconds=None,
            answers=[{"question": "nobody asked", "answer": "x"}],
        )
    assert len(store.answers_of(db, run.id)) == len(questions(saved))


def test_deleting_a_set_takes_its_runs(db: Database, saved: KnowledgeSet) -> None:
    run = RunRecord(saved.id, "base", None, "model")
    store.save_run(db, run, said(saved, 0))
    assert store.delete_set(db, saved.id) == 1
    for call in (store.load_set, store.delete_set):
        with pytest.raises(NotFoundError):
            call(db, saved.id)
    with pytest.raises(NotFoundError):
        store.answers_of(db, run.id)


def test_tables_are_means_over_sets_with_gains_over_the_editor(db: Database, atlas: str) -> None:
    options = SetOptions(facts=12, implications=6, updates=8, unrelated=2)
    sets = build(db, atlas, options).sets
    kept: dict[tuple[str, str], dict[str, Fraction]] = {}
    for i, knowledge in enumerate(sets):
        store.save_set(db, knowledge)
        runs = [RunRecord(knowledge.id, "memit", None, "m", {"at": at}) for at in (0, 1)]
        if i:  # the strategy ran on two of the three sets
            runs.append(RunRecord(knowledge.id, "backchain", "memit", "m"))
        for j, run in enumerate(runs):
            store.save_run(db, run, said(knowledge, 10 * i + j))
            # Of two runs of one method the newer one counts.
            kept[run.method, knowledge.id] = metrics.metrics_of(db, run.id)
    plain, wrapped = report.methods(db, dataset=atlas)
    assert (plain.method, plain.runs, wrapped.method, wrapped.runs) == (
        "memit", 3, "memit+backchain", 2
    )  # fmt: skip
    for row in (plain, wrapped):
        for name in METRICS:
            values = [
                shares[name].value
                for (method, _), shares in kept.items()
                if method == row.method and shares[name].value is not None
            ]
            mean = sum(v for v in values if v is not None) / len(values)
            assert row.means[name].value == pytest.approx(mean)
            counts = [
                shares[name].n
                for (method, _), shares in kept.items()
                if method == row.method and shares[name].value is not None
            ]
            assert row.means[name].answers == sum(counts)
            # The ends are where the mean is 1.96 standard errors away, of Σ p (1 - p) / (k² n_i).
            for end in (row.means[name].low, row.means[name].high):
                assert end is not None
                error = end * (1 - end) * sum(1 / n for n in counts) / len(counts) ** 2
                if 0 < end < 1:
                    assert abs(end - mean) == pytest.approx(1.959964 * error**0.5, rel=1e-6)
            assert row.means[name].n == len(values)
    assert not plain.gains
    both = [k.id for k in sets[1:]]
    differences = [
        (kept["memit+backchain", s]["upd_i"].value or 0) - (kept["memit", s]["upd_i"].value or 0)
        for s in both
    ]
    assert wrapped.gains["upd_i"].value == pytest.approx(sum(differences) / 2)
    assert wrapped.gains["upd_i"].n == 2
    told = report.text([plain, wrapped], ["specificity", "implications"], "markdown")
    assert "| Setting | Facts | Model | Method | Est.S (%) | n Est.S |" in told
    assert "gain Upd.I" in told
    with pytest.raises(UsageError):
        report.columns("table 3")


def test_there_is_nothing_to_report_on_or_to_build_from(db: Database, graph_id: str) -> None:
    with pytest.raises(NothingStoredError):
        report.methods(db, dataset=graph_id)
    datasets.store(db, datasets.read(graphs.path("atlas"), name=graph_id))
    with pytest.raises(NothingStoredError, match="no rules"):
        build(db, graph_id, SetOptions())
    with pytest.raises(NotFoundError):
        build(db, f"{graph_id}-nowhere", SetOptions())


def test_rules_are_chosen_by_id_and_status(db: Database, atlas: str) -> None:
    laws = rule_store.rules_of(db, atlas)
    only = build(db, atlas, SetOptions(), rules=[laws[1].id], per_rule=2).sets
    assert [(k.rule.id, k.seed) for k in only] == [(laws[1].id, 0), (laws[1].id, 1)]
    rule_store.delete(db, atlas)
    rule_store.save(db, atlas, [law.rule for law in laws], status="candidate")
    with pytest.raises(NothingStoredError):
        build(db, atlas, SetOptions())
    assert len(build(db, atlas, SetOptions(), candidates=True).sets) == 3
    with pytest.raises(UsageError, match=r"None of 3 rules .* too small"):
        build(db, atlas, SetOptions(facts=80, implications=40), candidates=True)


def test_the_bundled_graph_brings_its_rules(db: Database) -> None:
    path = rules.path("atlas")
    assert path is not None
    shipped = {law.id for law in load_rules(path)}
    sets = build(db, "atlas", SetOptions(setting="CQ_UT")).sets
    assert shipped <= {stored.id for stored in rule_store.rules_of(db, "atlas")}
    assert shipped <= {knowledge.rule.id for knowledge in sets}


def test_real_facts_give_sets(db: Database, atlas: str, data_dir: Path) -> None:
    """A rule over the LRE relations, whose conclusion no fact states, in the paper's size."""
    graph = f"{atlas}-lre"
    datasets.store(db, datasets.read(data_dir / "lre_relations", name=graph))
    law = rule(
        [Atom("x", "product by company", "y"), Atom("y", "company CEO", "z")],
        Atom("x", "comes from", "z", ("[x] comes from the company led by [z].",)),
        kinds={"x": "product", "y": "company", "z": "person"},
    )
    try:
        rule_store.save(db, graph, [law], status="kept")
        sets = build(db, graph, SetOptions(setting="ICQ_DT"), per_rule=2).sets
    finally:
        rule_store.delete(db, graph)
    assert len({knowledge.id for knowledge in sets}) == 2
    for knowledge in sets:
        assert len(knowledge.specific) == 24
        assert len(knowledge.implications) == 12
        assert {i.qa.asked for i in knowledge.implications} == {"{} comes from the company led by"}
        assert all(len(copy.updates) == 20 for copy in knowledge.copies)


def test_mined_rules_of_knowgic_give_small_sets(db: Database, atlas: str, data_dir: Path) -> None:
    graph = f"{atlas}-knowgic"
    datasets.store(db, datasets.read(data_dir / "knowgic", name=graph))
    options = SetOptions(facts=6, implications=3, updates=4)
    try:
        mine(db, graph)
        built = build(db, graph, options, candidates=True)
        with pytest.raises(UsageError, match=r"The closest one: .* has 23 facts"):
            build(db, graph, SetOptions(), candidates=True)
    finally:
        rule_store.delete(db, graph)
    assert len(built.sets) == 6
    assert len(built.skipped) > 500
    assert [each.apart for each in built.skipped] == sorted(
        (each.apart for each in built.skipped), reverse=True
    )
