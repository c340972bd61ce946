"""Additivity in Cypher against brute force, the worked example, and the filter's own rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from support.references.additivity import Asked, Column, Means, of_edit
from support.stored_edits import end_edit
from thinkeval.cypher import rows
from thinkeval.cypher.errors import IncompleteWriteError
from thinkeval.cypher.run import Database

SETS = ("hard", "random")
NAMES = ("rff", "rnf", "cpc", "fpc", "aff", "anf")
OPTIONS: list[dict[str, Any]] = [
    {"strict": strict, "published": published, "es_over": es, "ls_over": ls}
    for strict, published, (es, ls) in product(
        (False, True), (False, True), (("kept", "known"), ("all", "all"))
    )
]
EXAMPLE = Asked(
    "prompt",
    (0.1, 0.3),
    correct=[("o1", 0.30, 0.24), ("o2", 0.20, 0.10)],
    hard=[("f1", 0.10, 0.16), ("f2", 0.05, 0.04)],
    random=[("r1", 0.01, 0.01)],
)


def row(place: int, asked: Asked) -> dict[str, Any]:
    """A prompt as `append/write_answers` takes it."""
    out: dict[str, Any] = {"place": place, "role": asked.role, "text": f"prompt {place}"}
    out |= {"new_pre": asked.new[0], "new_post": asked.new[1]}
    if asked.role == "locality":
        return out | {"right_pre": asked.right[0], "right_post": asked.right[1]}
    for name in ("correct", "hard", "random"):
        columns: Sequence[Column] = getattr(asked, name)
        out[name] = [c[0] for c in columns]
        out |= {f"{name}_pre": [c[1] for c in columns], f"{name}_post": [c[2] for c in columns]}
    return out


def store(db: Database, graph: str, edits: Mapping[str, Sequence[Asked]]) -> None:
    """Edits that run, with their answers."""
    asked = dict.fromkeys(("rewrite", "subject", "relation", "target_true", "target_new"), "x")
    about = {"model": "m", "method": "rome", "dataset": graph, "rewrite": "x"}
    with db.transaction() as tx:
        tx.run(
            rows.WrittenRow,
            "graph/merge_rewrites",
            dataset=graph,
            rows=[asked | {"prompt": "{} r"}],
        )
        for edit, prompts in edits.items():
            answers = [row(*x) for x in enumerate(prompts)]
            tx.run(rows.MergeEditRow, "edits/merge_edit", id=edit, status="running", **about)
            tx.run(rows.WrittenRow, "append/write_answers", edit=edit, rows=answers)


def measured(db: Database, edits: Sequence[str], **options: Any) -> dict[Any, rows.AdditivityRow]:
    found = db.read(rows.AdditivityRow, "append/additivity", edits=list(edits), **options)
    return {(each.edit, each.set): each for each in found}


def seen(found: rows.AdditivityRow) -> Means:
    """A row as the brute force tells it."""
    names = [*NAMES, "es", "gs", "ls"]
    counts = dict.fromkeys(("rff", "rnf", "cpc", "aff"), found.n)
    counts |= dict.fromkeys(("fpc", "anf"), found.n_fpc)
    counts |= {"es": found.n_es, "gs": found.n_gs, "ls": found.n_ls}
    dropped = (found.no_correct, found.no_hard, found.no_random)
    values = {name: getattr(found, name) for name in names}
    return Means(found.prompts, found.n, dropped, values, counts)


def drawn(rng: random.Random) -> list[Asked]:
    """An edit with many ties, duplicate names, empty lists and zeros."""
    scale = rng.choice((4, 10, 100))

    def p() -> float:
        return rng.randint(0, scale) / scale

    def columns(pool: str, most: int, shift: float) -> list[Column]:
        chosen = [rng.choice(pool) for _ in range(rng.randint(rng.random() > 0.1, most))]
        return [(name, p() * shift, p()) for name in chosen]

    def asked(role: Any) -> Asked:
        low = rng.choice((1.0, 0.5, 0.2))
        lists = (columns("abcdef", 9, 1), columns("efghijk", 12, low), columns("uvw", 5, low))
        return Asked(role, (p(), p()), *lists)

    near = [Asked("locality", (p(), p()), right=(p(), p())) for _ in range(rng.randint(0, 4))]
    return [asked("prompt"), *(asked("paraphrase") for _ in range(rng.randint(0, 3))), *near]


def moved(
    edits: Mapping[str, Sequence[Asked]], change: Callable[[Sequence[Column]], list[Column]]
) -> dict[str, list[Asked]]:
    """The edits with other columns."""
    return {
        edit: [
            replace(x, correct=change(x.correct), hard=change(x.hard), random=change(x.random))
            for x in prompts
        ]
        for edit, prompts in edits.items()
    }


Cases = dict[str, list[Asked]]


@pytest.fixture
def cases(db: Database, graph_id: str) -> Iterator[Cases]:
    rng = random.Random(14)
    found = {f"{graph_id}|{i:03}": drawn(rng) for i in range(200)}
    store(db, graph_id, found)
    yield found
    with db.transaction() as tx:
        for edit in found:
            tx.run(rows.DeleteEditRow, "edits/delete_edit", id=edit)


@pytest.fixture
def few(db: Database, graph_id: str) -> Cases:
    rng = random.Random(15)
    return {f"{graph_id}|{i}": drawn(rng) for i in range(15)}


def test_200_edits_agree_with_brute_force(db: Database, cases: Cases) -> None:
    taken: dict[str, int] = dict.fromkeys((*NAMES, "es", "gs", "ls"), 0)
    for options in OPTIONS:
        found = measured(db, list(cases), **options)
        assert len(found) == 2 * len(cases)
        for (edit, wrong), each in found.items():
            ours, theirs = seen(each), of_edit(cases[edit], wrong, **options)
            assert ours == replace(theirs, values=pytest.approx(theirs.values)), (edit, options)
            for name, n in theirs.counts.items():
                taken[name] += n > 0
    # Every value was defined often, and undefined often.
    assert all(200 < n < 3_100 for n in taken.values()), taken


def test_only_probabilities_before_the_edit_decide_what_is_kept(
    db: Database, graph_id: str, few: Cases
) -> None:
    rng = random.Random(16)
    other = moved(few, lambda columns: [(name, pre, rng.random()) for name, pre, _ in columns])
    store(db, graph_id, few)
    before = measured(db, list(few))
    store(db, graph_id, other)
    after = measured(db, list(few))
    counted = ("prompts", "n", "no_correct", "no_hard", "no_random", "n_fpc", "n_es", "n_gs")
    for key, each in before.items():
        assert [getattr(each, c) for c in counted] == [getattr(after[key], c) for c in counted]
    assert any(each.aff != after[key].aff for key, each in before.items())


def test_an_edit_that_changes_nothing_harms_nothing(
    db: Database, graph_id: str, few: Cases
) -> None:
    store(db, graph_id, moved(few, lambda columns: [(name, pre, pre) for name, pre, _ in columns]))
    found = [each for each in measured(db, list(few)).values() if each.n]
    assert len(found) > 10
    for each in found:
        assert (each.rff, each.rnf) == (0, 0)
        assert (each.cpc, each.aff) == pytest.approx((1, 0))
        assert each.n_fpc == 0 or (each.fpc, each.anf) == pytest.approx((1, 0))


def test_the_worked_example(db: Database, graph_id: str) -> None:
    store(db, graph_id, {graph_id: [EXAMPLE]})
    hard = measured(db, [graph_id])[graph_id, "hard"]
    got = [round(value or 0, 5) for value in (hard.rff, hard.rnf, hard.aff, hard.anf)]
    assert got == [0.48399, 0.51425, 0.64911, 0.63569]
    assert (hard.cpc, hard.fpc) == pytest.approx((0.68, 4 / 3))
    assert (hard.prompts, hard.n, hard.es, hard.n_es, hard.gs, hard.n_gs) == (1, 1, 1.0, 1, None, 0)
    assert (hard.ls, hard.n_ls, hard.asked_ls) == (None, 0, 0)


def test_undefined_values_are_null_with_their_reason(db: Database, graph_id: str) -> None:
    edits = {
        "no correct": replace(EXAMPLE, correct=[("o", 0.01, 0.5)]),
        "no hard": replace(EXAMPLE, hard=[]),
        "no random": replace(EXAMPLE, random=[("r", 0.9, 0.1)]),
        "zeros": replace(EXAMPLE, hard=[("f", 0.0, 0.2)]),
    }
    store(db, graph_id, {f"{graph_id}|{name}": [asked] for name, asked in edits.items()})
    found = measured(db, [*(f"{graph_id}|{name}" for name in edits), f"{graph_id}|unknown"])
    hard = {name: found[f"{graph_id}|{name}", "hard"] for name in (*edits, "unknown")}
    for place, name in enumerate(("no correct", "no hard", "no random")):
        each = hard[name]
        assert [each.no_correct, each.no_hard, each.no_random] == [
            int(i == place) for i in range(3)
        ]
        assert (each.prompts, each.n, each.n_fpc, each.n_es) == (1, 0, 0, 0)
        assert {getattr(each, v) for v in (*NAMES, "es", "gs", "ls")} == {None}
    zeros = hard["zeros"]
    assert (zeros.n, zeros.n_fpc, zeros.fpc, zeros.anf) == (1, 0, None, None)
    assert zeros.aff is not None
    assert zeros.rnf == 1
    assert (hard["unknown"].prompts, hard["unknown"].n, hard["unknown"].aff) == (0, 0, None)


def test_what_is_written_is_read_back_replaced_and_deleted(db: Database, graph_id: str) -> None:
    near = Asked("locality", (0.1, 0.2), right=(0.5, 0.4))
    store(db, graph_id, {graph_id: [EXAMPLE, replace(EXAMPLE, role="paraphrase"), near]})
    store(db, graph_id, {graph_id: [EXAMPLE, near]})
    first, second = db.read(rows.AppendAnswersRow, "append/answers", edit=graph_id)
    assert (first.place, first.role, first.text) == (0, "prompt", "prompt 0")
    assert (first.correct, first.correct_pre, first.correct_post) == (
        ("o1", "o2"), (0.30, 0.20), (0.24, 0.10)
    )  # fmt: skip
    assert (first.new_pre, first.new_post, first.right_pre) == (0.1, 0.3, None)
    assert (second.role, second.correct, second.hard_pre) == ("locality", (), ())
    assert (second.right_pre, second.right_post) == (0.5, 0.4)
    with pytest.raises(IncompleteWriteError):
        db.write(
            rows.WrittenRow, "append/write_answers", edit=f"{graph_id}-none", rows=[row(0, EXAMPLE)]
        )
    db.write(rows.DeleteEditRow, "edits/delete_edit", id=graph_id)
    assert db.read(rows.AppendAnswersRow, "append/answers", edit=graph_id) == []


def test_answers_of_an_edit_without_a_score_are_dropped(db: Database, graph_id: str) -> None:
    store(db, graph_id, {graph_id: [EXAMPLE]})
    db.write(rows.MergeGraphRow, "graph/merge_graph", graph=graph_id, kind="edit", dataset=graph_id)
    db.write(int, "edits/drop_unfinished", id=graph_id, limit=10)
    assert len(db.read(rows.AppendAnswersRow, "append/answers", edit=graph_id)) == 1, (
        "it is still running"
    )
    end_edit(db.write, graph_id, "failed")
    db.write(int, "edits/drop_unfinished", id=graph_id, limit=10)
    assert db.read(rows.AppendAnswersRow, "append/answers", edit=graph_id) == []
