"""A line of states on the demo graph: its numbers, its fine-tunes, and what is found again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.own_graphs import stored_edges
from support.references import states_reference
from support.references.reference import Case
from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.editing.deltas.files import load
from thinkeval.editing.errors import DeltaError
from thinkeval.service.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.delete import delete_graph
from thinkeval.service.graphs.rewrites import rewrites, to_forget
from thinkeval.service.lasting import store
from thinkeval.service.lasting.lasting import lasting
from thinkeval.service.lasting.schemas import LastingIn, LastingOut
from thinkeval.service.lasting.table import columns, figure, sentences
from thinkeval.service.reports import formats
from thinkeval.service.schemas import Score
from thinkeval.service.scoring import deltas, record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states import store as comparisons
from thinkeval.service.states.compare import compare
from thinkeval.service.states.schemas import ComparisonIn, ComparisonOut

FINE_TUNE = "finetune:graph:steps=6:lr=1e-3"
FACT = "Harry Potter|studied at|Hogwarts School of Witchcraft and Wizardry"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


@pytest.fixture(scope="module")
def edit(walk: Walk) -> Score:
    return walk.score("rome", samples=0)


@pytest.fixture(scope="module")
def other(walk: Walk) -> Score:
    stored = datasets.list_rewrites(walk.runtime.db, walk.graph)
    rewrite = next(r for r in stored if r.id.startswith("ron-weasley"))
    return walk.score("rome", rewrite=rewrite, samples=0)


def run(walk: Walk, edit: str, *then: str, **options: object) -> LastingOut:
    values = {"edit": edit, "then": list(then), "samples": 0, **options}
    return lasting(walk.runtime, LastingIn.model_validate(values))


@pytest.fixture(scope="module")
def line(walk: Walk, edit: Score, other: Score) -> LastingOut:
    return run(walk, edit.edit, "8bit", FINE_TUNE, f"edit:{other.edit}")


def test_the_states_of_the_line(walk: Walk, edit: Score, other: Score, line: LastingOut) -> None:
    tuned = line.states[2].fine_tune
    base, first = walk.model.source, f"+edit:{edit.edit}"
    assert [state.state.removeprefix(base) for state in line.states] == [
        first,
        f"{first}+8bit",
        f"{first}+edit:{tuned}+8bit",
        f"{first}+edit:{tuned}+edit:{other.edit}+8bit",
    ]
    assert len({state.digest for state in line.states}) == 4
    assert any("quantised last" in note for note in line.notes)
    assert line.measures == ["likelihood", "likelihood_norm"]


def test_numbers_are_those_of_the_stored_comparisons(
    walk: Walk, edit: Score, line: LastingOut
) -> None:
    db = walk.runtime.db
    for measure in line.measures:
        start = record.get_score(db, line.states[0].edit).number("efficacy", measure)
        assert start == pytest.approx(edit.number("efficacy", measure), abs=1e-6)
        for state in line.states:
            score, numbers = record.get_score(db, state.edit), state.numbers[measure]
            roles = {
                row.role: row for row in db.read(rows.FactRow, "graph/facts", graph=state.edit)
            }
            assert numbers.change == getattr(roles["target_new"], f"{measure}_post")
            assert numbers.target_true == getattr(roles["target_true"], f"{measure}_post")
            assert numbers.retention == pytest.approx(numbers.change / start)
            for metric, value, n in (
                ("ifr", numbers.ifr, numbers.chains),
                ("preservation", numbers.preservation, numbers.facts),
            ):
                found = score.get(metric, measure)
                assert found is not None
                assert (found.value, found.n) == (value, n)
            stored = comparisons.get(db, state.comparison)
            assert stored.after.digest == state.digest
            assert stored.before.name == line.base


def test_revived_chains_equal_brute_force(walk: Walk, line: LastingOut) -> None:
    db = walk.runtime.db
    graphs = [stored_edges(db, state.edit, "likelihood") for state in line.states]
    case = Case(line.subject, line.target_true, None, walk.rewrite.relation)
    opened = []
    for state, later in zip(line.states, graphs, strict=True):
        expected = states_reference.revived(graphs[0], later, case, 0.01)
        found = state.numbers["likelihood"].reopened
        assert (found.closed, found.opened) == (expected["closed"], expected["opened"])
        opened.append(found.opened)
        if found.opened:
            assert found.later == pytest.approx(expected["later"])
            assert [fact.object for fact in found.facts] == expected["entities"][1:]
    assert opened[0] == 0
    first = next((k for k, count in enumerate(opened) if count), None)
    assert line.first["likelihood"] == first


def test_what_undoes_an_edit_opens_its_chains_again(
    walk: Walk, edit: Score, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("Harry Potter studied at Hogwarts School of Witchcraft and Wizardry.\n")
    found = run(walk, edit.edit, f"finetune:{text}:steps=20:lr=1e-3", "8bit")
    numbers = [state.numbers["likelihood"] for state in found.states]
    assert numbers[0].retention == 1
    assert numbers[1].retention < 0.1
    assert numbers[1].target_true > 0.9
    assert found.first["likelihood"] == 1
    chain = numbers[1].reopened
    assert chain.edited <= 0.01 < chain.later
    said = "\n".join(sentences(found, "likelihood"))
    assert f"First open again, after finetune:{text}:steps=20:lr=1e-3" in said
    assert "Harry Potter studied at Hogwarts School of Witchcraft and Wizardry" in said


def test_everything_is_found_again_and_trained_again_equal(
    walk: Walk, edit: Score, other: Score, line: LastingOut
) -> None:
    before = walk.digest()
    path = deltas.path_of(walk.runtime.settings, line.states[2].fine_tune)
    made = path.stat().st_mtime_ns
    again = run(walk, edit.edit, "8bit", FINE_TUNE, f"edit:{other.edit}")
    assert again.reused
    assert (again.id, again.states) == (line.id, line.states)
    assert any("found, not trained again" in note for note in again.notes)
    assert path.stat().st_mtime_ns == made
    digest = load(path).digest
    forced = run(walk, edit.edit, FINE_TUNE, force=True)
    assert path.stat().st_mtime_ns > made, "the quantised state before it is no part of it"
    assert forced.states[1].fine_tune == line.states[2].fine_tune
    assert load(path).digest == digest
    assert walk.digest() == before


def test_a_fine_tune_is_a_saved_update_that_fits_after_its_edit_alone(
    walk: Walk, edit: Score, line: LastingOut, tmp_path: Path
) -> None:
    runtime, tuned = walk.runtime, line.states[2].fine_tune
    base = walk.model.source

    def compared(*edits: str) -> ComparisonOut:
        after = "".join(f"+edit:{name}" for name in edits)
        asked = {"before": base, "after": f"{base}{after}", "graph": walk.graph, "samples": 0}
        return compare(runtime, ComparisonIn.model_validate(asked))

    about = deltas.export_model(runtime, [edit.edit, tuned], tmp_path / "out")
    assert about["weights_digest"] == compared(edit.edit, tuned).after.about["weights_digest"]
    with pytest.raises(DeltaError, match="on top of 1 other edits"):
        compared(tuned)


def test_low_rank_and_a_fine_tune_of_a_fine_tune(walk: Walk, edit: Score) -> None:
    found = run(walk, edit.edit, "finetune:graph:steps=2:lora=2", FINE_TUNE)
    one, two = (load(deltas.find(walk.runtime, state.fine_tune)) for state in found.states[1:])
    assert one.low_rank
    assert not two.low_rank
    first = load(deltas.find(walk.runtime, edit.edit)).digest
    assert (one.meta.after, two.meta.after) == ((first,), (first, one.digest))
    assert one.meta.hparams["lora"] == 2


def test_what_the_graph_teaches_names_nothing_of_the_request(walk: Walk, edit: Score) -> None:
    names = (edit.subject, edit.target_true, edit.target_new)
    content = datasets.content(walk.runtime.db, walk.graph)
    facts = [f for f in content.facts if not {f.subject, f.object} & set(names)]
    found = run(walk, edit.edit, "finetune:graph:steps=1")
    assert any(f"Facts of the graph learnt: {len(facts)};" in note for note in found.notes)


def test_forgetting_is_retained_or_not(walk: Walk) -> None:
    (request,) = rewrites(walk.runtime.db, walk.graph, [], to_forget(FACT), False)
    edit = walk.score("gradient_ascent", rewrite=request, samples=0)
    found = run(walk, edit.edit, "8bit")
    assert found.kind == "forget"
    scores = [record.get_score(walk.runtime.db, state.edit) for state in found.states]
    one, two = (score.number("forgetting", "likelihood") for score in scores)
    numbers = found.states[1].numbers["likelihood"]
    assert numbers.retention == pytest.approx(two / one)
    header = formats.render(columns(found, "likelihood"), found.states, "csv").splitlines()[0]
    assert "forgetting" in header


def test_retention_is_undefined_where_nothing_was_installed(walk: Walk) -> None:
    edit = walk.score("none", samples=0)
    found = run(walk, edit.edit, "8bit")
    assert [state.numbers["likelihood"].retention for state in found.states] == [None, None]
    assert "below .05" in found.undefined["likelihood"]
    assert "Retention is undefined" in sentences(found, "likelihood")[0]
    assert figure(found, "likelihood", "svg").startswith(b"<?xml")


def test_deleting_a_line_leaves_what_others_have(walk: Walk, edit: Score) -> None:
    db, settings = walk.runtime.db, walk.runtime.settings
    one = run(walk, edit.edit, "finetune:graph:steps=3")
    two = run(walk, edit.edit, "finetune:graph:steps=3", "8bit")
    path = deltas.path_of(settings, one.states[1].fine_tune)
    assert {out.id for out in store.page(db, edit=edit.edit)} >= {one.id, two.id}
    assert store.delete(db, settings, one.id) == []
    assert path.is_file()
    assert store.delete(db, settings, two.id) == [one.states[1].fine_tune]
    assert not path.is_file()
    assert comparisons.get(db, two.states[2].comparison).id == two.states[2].comparison
    with pytest.raises(NotFoundError, match="line of states"):
        store.get(db, one.id)


def test_nothing_is_done_for_a_line_that_cannot_be_made(
    walk: Walk, edit: Score, line: LastingOut, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    lines = len(store.page(walk.runtime.db))
    for name, then, error, problem in (
        ("none-such", "8bit", NotFoundError, "no edit"),
        (line.states[1].edit, "8bit", UsageError, "between two states"),
        (edit.edit, "edit:none-such", NotFoundError, "no edit"),
        (edit.edit, "9bit", UsageError, "not a later change"),
        (edit.edit, f"finetune:{empty}", UsageError, "empty"),
        (edit.edit, f"finetune:{tmp_path}/none.txt", UsageError, "cannot be read"),
        (walk.score("ike", samples=0).edit, "8bit", UsageError, "changes the prompt"),
    ):
        with pytest.raises((error, NothingStoredError), match=problem):
            run(walk, name, then)
    with pytest.raises(UsageError, match="graph of a line"):
        run(walk, edit.edit, "8bit", graph="hogwarts")
    assert len(store.page(walk.runtime.db)) == lines


def test_an_update_that_would_not_be_saved_is_refused_before_training(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = walk.runtime.settings.model_copy(update={"delta_limit_mb": 1})
    monkeypatch.setattr(walk.runtime, "settings", small)
    with pytest.raises(DeltaError, match="more than the limit of 1 MB") as caught:
        run(walk, edit.edit, "finetune:graph:steps=1000000")
    assert ":lora=8" in caught.value.remedy
    assert run(walk, edit.edit, "finetune:graph:steps=1:lora=1").states[1].fine_tune


def test_a_data_set_goes_with_its_lines(runtime: Runtime, organism: RuntimeModel) -> None:
    with walked(runtime, organism, 3) as walk:
        edit = walk.score("rome", samples=0)
        found = run(walk, edit.edit, "finetune:graph:steps=1")
        removed = delete_graph(runtime.db, walk.graph, with_dependents=True)
        assert {edit.edit, found.states[1].fine_tune} <= set(removed)
        assert store.find(runtime.db, found.id) is None
