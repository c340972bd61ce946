"""A base and several states on the demo graph: retention, chains open again, fine-tunes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import neo4j
import pytest

from support.own_graphs import stored_edges
from support.references import states_reference
from support.references.reference import KNOWN, Case
from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.editing.deltas.files import load
from thinkeval.editing.errors import DeltaError
from thinkeval.service.base.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.engines import comparing as on_engine
from thinkeval.service.experiments.store import results as stored
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.delete import delete_graph
from thinkeval.service.graphs.requests import rewrites, to_forget
from thinkeval.service.models.edit import Score
from thinkeval.service.reports import formats
from thinkeval.service.scoring import deltas, record
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.states import compare as comparing
from thinkeval.service.states import measures as probing
from thinkeval.service.states import table
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import (
    ComparedRequest,
    ComparisonIn,
    ComparisonOut,
    OpenState,
    Retention,
)

FINE_TUNE = "+finetune:graph:steps=6:lr=1e-3"
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


def run(walk: Walk, *states: str, **options: object) -> ComparisonOut:
    values: dict[str, object] = {
        "base": walk.model.source, "states": list(states), "graph": walk.graph, "samples": 0,
    }  # fmt: skip
    if "forget" not in options:
        values["rewrites"] = [walk.rewrite.id]
    return compare(walk.runtime, ComparisonIn.model_validate(values | options))


def requests(out: ComparisonOut) -> list[ComparedRequest]:
    """The only request of each state."""
    return [request for state in out.states for request in state.requests]


def kept(out: ComparisonOut, measure: str = "likelihood") -> list[Retention]:
    return [request.retention[measure] for request in requests(out)]  # type: ignore[index]


@pytest.fixture(scope="module")
def line(walk: Walk, edit: Score, other: Score) -> ComparisonOut:
    return run(walk, f"+edit:{edit.edit}", "+8bit", FINE_TUNE, f"+edit:{other.edit}")


def test_an_edit_is_opened_by_the_id_that_its_job_had(
    walk: Walk, edit: Score, server: dict[str, str]
) -> None:
    """A service returns that id before it knows what the edit's own id depends on."""
    posted = f"{edit.edit}-posted"
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        driver.execute_query(
            "MATCH (e:Edit {id: $id}) CREATE (:Post {id: $posted})-[:ASKS_FOR]->(e)",
            id=edit.edit,
            posted=posted,
        )
    saved = deltas.read(walk.runtime, posted)
    assert saved.digest == deltas.read(walk.runtime, edit.edit).digest
    assert saved.meta.edit == edit.edit


def test_the_states_of_the_sequence(
    walk: Walk, edit: Score, other: Score, line: ComparisonOut
) -> None:
    (tuned,) = line.states[2].updates
    base, first = walk.model.source, f"+edit:{edit.edit}"
    assert [state.after.spec.removeprefix(base) for state in line.states] == [
        first,
        f"{first}+8bit",
        f"{first}+edit:{tuned}+8bit",
        f"{first}+edit:{tuned}+edit:{other.edit}+8bit",
    ]
    changes = [first, "+8bit", FINE_TUNE, f"+edit:{other.edit}"]
    assert [state.spec for state in line.states] == changes
    assert len({state.after.digest for state in line.states}) == 4
    assert line.measures == ["likelihood", "likelihood_norm"]


def test_numbers_are_those_of_the_stored_edits(
    walk: Walk, edit: Score, line: ComparisonOut
) -> None:
    db = walk.runtime.db
    for measure in line.measures:
        start = record.get_score(db, requests(line)[0].edit).number("efficacy", measure)
        assert start == pytest.approx(edit.number("efficacy", measure), abs=1e-6)
        for state, request in zip(line.states, requests(line), strict=True):
            score, numbers = record.get_score(db, request.edit), request.retention[measure]
            facts = db.read(rows.FactRow, "graph/facts", graph=request.edit)
            roles = {row.role: row for row in facts}
            assert numbers.change == getattr(roles["target_new"], f"{measure}_post")
            assert numbers.target_true == getattr(roles["target_true"], f"{measure}_post")
            assert numbers.retention == pytest.approx(numbers.change / start)
            for metric in ("ifr", "preservation"):
                found, shown = score.get(metric, measure), request.value(metric, measure)
                assert found is not None
                assert shown is not None
                assert (found.value, found.n) == (shown.value, shown.n)
            assert state.before.name == line.base.name


def test_a_state_of_a_sequence_is_the_comparison_of_it_alone(
    walk: Walk, edit: Score, line: ComparisonOut
) -> None:
    alone = run(walk, f"{walk.model.source}+edit:{edit.edit}+8bit")
    (state,) = alone.states
    assert state.id == alone.id == line.states[1].id
    assert state.requests[0].values == line.states[1].requests[0].values
    assert state.requests[0].edit == line.states[1].requests[0].edit
    assert state.requests[0].retention == {}, "a single state has nothing to retain"


def require_brute_force(walk: Walk, out: ComparisonOut) -> list[int]:
    """Compare the chains that are open again with brute force; how many of each state."""
    graphs = [stored_edges(walk.runtime.db, each.edit, "likelihood") for each in requests(out)]
    first = requests(out)[0]
    case = Case(first.subject, first.target_true, None, walk.rewrite.relation)
    opened = []
    for numbers, later in zip(kept(out), graphs, strict=True):
        expected = states_reference.revived(graphs[0], later, case, KNOWN)
        found = numbers.reopened
        assert (found.closed, found.opened) == (expected["closed"], expected["opened"])
        opened.append(found.opened)
        if found.opened:
            assert found.later == pytest.approx(expected["later"])
            assert [fact.object for fact in found.facts] == expected["entities"][1:]
    assert opened[0] == 0
    return opened


def test_revived_chains_equal_brute_force(walk: Walk, line: ComparisonOut) -> None:
    require_brute_force(walk, line)


def test_a_later_change_that_undoes_an_edit_opens_its_chains_again(
    walk: Walk, edit: Score, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("Harry Potter studied at Hogwarts School of Witchcraft and Wizardry.\n")
    tune = f"+finetune:{text}:steps=20:lr=1e-3"
    found = run(walk, f"+edit:{edit.edit}", tune, "+8bit")
    numbers = kept(found)
    assert numbers[0].retention == 1
    assert numbers[1].retention < 0.1
    assert numbers[1].target_true > 0.9
    assert require_brute_force(walk, found)[1] > 0
    chain = numbers[1].reopened
    assert chain.edited <= 0.01 < chain.later
    said = "\n".join(table.sentences(found, "likelihood"))
    assert f"First open again, in {tune}" in said
    assert "Harry Potter studied at Hogwarts School of Witchcraft and Wizardry" in said


def test_states_that_do_not_have_the_first_change_have_no_retention(
    walk: Walk, edit: Score, other: Score
) -> None:
    base = walk.model.source
    found = run(walk, f"+edit:{edit.edit}", f"{base}+edit:{other.edit}", base)
    assert [bool(request.retention) for request in requests(found)] == [True, False, False]
    assert found.states[2].same
    assert [state.spec for state in found.states[1:]] == [f"{base}+edit:{other.edit}", base]


def test_everything_is_found_again_and_trained_again_equal(
    walk: Walk, edit: Score, other: Score, line: ComparisonOut
) -> None:
    before = walk.digest()
    (tuned,) = line.states[2].updates
    path = deltas.path_of(walk.runtime.settings, tuned)
    made = path.stat().st_mtime_ns
    again = run(walk, f"+edit:{edit.edit}", "+8bit", FINE_TUNE, f"+edit:{other.edit}")
    assert again.reused
    assert (again.id, again.states) == (line.id, line.states)
    assert path.stat().st_mtime_ns == made
    digest = load(path).digest
    shorter = run(walk, f"+edit:{edit.edit}", FINE_TUNE)
    assert any("found, not trained again" in note for note in shorter.notes)
    forced = run(walk, f"+edit:{edit.edit}", FINE_TUNE, force=True)
    assert path.stat().st_mtime_ns > made, "the quantised state before it is no part of it"
    assert forced.states[1].updates == [tuned]
    assert load(path).digest == digest
    assert walk.digest() == before


def test_a_fine_tune_is_a_saved_update_that_fits_after_its_edit_alone(
    walk: Walk, edit: Score, line: ComparisonOut, tmp_path: Path
) -> None:
    runtime, (tuned,) = walk.runtime, line.states[2].updates
    base = walk.model.source

    def compared(*edits: str) -> ComparisonOut:
        return run(walk, base + "".join(f"+edit:{name}" for name in edits), rewrites=[])

    about = deltas.export_model(runtime, [edit.edit, tuned], tmp_path / "out")
    (state,) = compared(edit.edit, tuned).states
    assert about["weights_digest"] == state.after.about["weights_digest"]
    with pytest.raises(DeltaError, match="on top of 1 other edits"):
        compared(tuned)


def test_low_rank_and_a_fine_tune_of_a_fine_tune(walk: Walk, edit: Score) -> None:
    found = run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=2:lora=2", FINE_TUNE)
    first_tuned, second_tuned = found.states[2].updates
    assert found.states[1].updates == [first_tuned]
    one, two = (load(deltas.find(walk.runtime, name)) for name in (first_tuned, second_tuned))
    assert one.low_rank
    assert not two.low_rank
    first = load(deltas.find(walk.runtime, edit.edit)).digest
    assert (one.meta.after, two.meta.after) == ((first,), (first, one.digest))
    assert one.meta.hparams["lora"] == 2


def test_the_graph_teaches_no_fact_that_names_an_entity_of_the_request(
    walk: Walk, edit: Score
) -> None:
    names = (edit.subject, edit.target_true, edit.target_new)
    content = datasets.content(walk.runtime.db, walk.graph)
    facts = [f for f in content.facts if not {f.subject, f.object} & set(names)]
    found = run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=1")
    assert any(f"Facts of the graph learnt: {len(facts)};" in note for note in found.notes)


def test_the_base_may_be_a_fine_tune(walk: Walk, edit: Score) -> None:
    base = f"{walk.model.source}+finetune:graph:steps=2"
    found = run(walk, "+8bit", base=base)
    assert found.base.kind == "edited"
    assert "+edit:finetune-graph-" in found.base.spec
    (state,) = found.states
    assert state.after.spec == f"{found.base.spec}+8bit"


def test_forgetting_is_retained_or_not(walk: Walk) -> None:
    (request,) = rewrites(walk.runtime.db, walk.graph, [], to_forget(FACT), False)
    edit = walk.score("gradient_ascent", rewrite=request, samples=0)
    found = run(walk, f"+edit:{edit.edit}", "+8bit", forget=[FACT])
    assert [request.kind for request in requests(found)] == ["forget"] * 2
    scores = [record.get_score(walk.runtime.db, each.edit) for each in requests(found)]
    one, two = (score.number("forgetting", "likelihood") for score in scores)
    assert kept(found)[1].retention == pytest.approx(two / one)
    states = table.tables(found, "likelihood")[0]
    assert "forgetting" in formats.render(states, "csv").splitlines()[0]


def test_retention_is_undefined_where_nothing_was_installed(walk: Walk) -> None:
    edit = walk.score("none", samples=0)
    found = run(walk, f"+edit:{edit.edit}", "+8bit")
    assert [numbers.retention for numbers in kept(found)] == [None, None]
    assert all("below .05" in (numbers.undefined or "") for numbers in kept(found))
    assert "Retention is undefined" in table.sentences(found, "likelihood")[0]
    assert table.retention_figure(found, "svg", "likelihood").startswith(b"<?xml")


def test_deleting_leaves_the_states_and_updates_of_others(walk: Walk, edit: Score) -> None:
    db, settings = walk.runtime.db, walk.runtime.settings
    one = run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=3")
    two = run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=3", "+8bit")
    shared = requests(one)[1]
    (tuned,) = one.states[1].updates
    path = deltas.path_of(settings, tuned)
    assert {out.id for out in COMPARISON.store.page(db, edit=shared.edit)} >= {one.id, two.id}
    assert COMPARISON.store.delete(db, settings, one.id) == []
    assert path.is_file()
    assert record.get_score(db, shared.edit).edit == shared.edit
    gone = COMPARISON.store.delete(db, settings, two.id)
    assert {shared.edit, requests(two)[2].edit} <= set(gone)
    assert requests(two)[0].edit not in gone, "the sequence of other tests has the first state"
    assert not path.is_file()
    with pytest.raises(NotFoundError, match="comparison"):
        COMPARISON.store.get(db, one.id)


def test_nothing_is_done_for_states_that_cannot_be_made(
    walk: Walk, edit: Score, line: ComparisonOut, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    stored = len(COMPARISON.store.page(walk.runtime.db))
    first = f"+edit:{edit.edit}"
    for states, error, problem in (
        (("+edit:none-such", "+8bit"), NotFoundError, "no edit"),
        ((f"+edit:{requests(line)[1].edit}", "+8bit"), UsageError, "between two states"),
        ((first, "+edit:none-such"), NotFoundError, "no edit"),
        ((first, f"+finetune:{empty}"), UsageError, "empty"),
        ((first, f"+finetune:{tmp_path}/none.txt"), UsageError, "cannot be read"),
        ((f"+edit:{walk.score('ike', samples=0).edit}", "+8bit"), DeltaError, "changes the prompt"),
    ):
        with pytest.raises((error, NothingStoredError), match=problem):
            run(walk, *states)
    assert len(COMPARISON.store.page(walk.runtime.db)) == stored


def test_an_update_that_would_not_be_saved_is_refused_before_training(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = walk.runtime.settings.model_copy(update={"delta_limit_mb": 1})
    monkeypatch.setattr(walk.runtime, "settings", small)
    with pytest.raises(DeltaError, match="more than the limit of 1 MB") as caught:
        run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=1000000")
    assert ":lora=8" in caught.value.remedy
    assert run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=1:lora=1").states[1].updates


def test_a_data_set_goes_with_its_comparisons(runtime: Runtime, organism: RuntimeModel) -> None:
    with walked(runtime, organism, 3) as walk:
        edit = walk.score("rome", samples=0)
        found = run(walk, f"+edit:{edit.edit}", "+finetune:graph:steps=1")
        removed = delete_graph(runtime.db, walk.graph, with_dependents=True)
        assert {edit.edit, *found.states[1].updates} <= set(removed)
        assert COMPARISON.store.find(runtime.db, found.id) is None


def test_an_interrupted_comparison_begins_with_the_next_state(
    walk: Walk, edit: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three states the second fails once: the first is not asked again, nothing is left over."""
    states = ("+8bit", f"+edit:{edit.edit}", FINE_TUNE)
    asked: list[str] = []
    of_state = comparing._state

    def failing(run: object, model: object, spec: str, *rest: object) -> object:
        asked.append(spec)
        if len(asked) == 2:
            raise UsageError("It is interrupted.")
        return of_state(run, model, spec, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(comparing, "_state", failing)
    with pytest.raises(UsageError, match="interrupted"):
        run(walk, *states)
    db = walk.runtime.db
    (part,) = (each for each in stored(db, "comparison", ComparisonOut) if each.unfinished)
    assert [state.spec for state in part.states] == ["+8bit"]
    out = run(walk, *states)
    assert out.states[0].seconds == part.states[0].seconds  # as it was asked
    assert not [each for each in stored(db, "comparison", ComparisonOut) if each.unfinished]
    assert len(out.states) == 3
    again = run(walk, *states)
    assert again.reused
    assert again.id == out.id


def test_states_that_executors_compare_have_the_ids_and_numbers_of_one_process(
    walk: Walk, edit: Score, other: Score, line: ComparisonOut
) -> None:
    """The last test: it stores the comparison of `line` anew, by other numbers of threads."""
    values = {
        "base": walk.model.source,
        "states": [f"+edit:{edit.edit}", "+8bit", FINE_TUNE, f"+edit:{other.edit}"],
        "graph": walk.graph, "samples": 0, "rewrites": [walk.rewrite.id], "force": True,
    }  # fmt: skip
    posted = on_engine.ahead(walk.runtime, ComparisonIn.model_validate(values), 2)
    assert not posted.force
    COMPARISON.store.delete(walk.runtime.db, walk.runtime.settings, line.id)
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing, "answers_of", _noted(asked))
        found = compare(walk.runtime, posted)
    assert len(asked) == 1  # the base: its answers are read
    assert [state.id for state in found.states] == [state.id for state in line.states]
    assert found.id == line.id
    for measure in line.measures:
        for one, two in zip(requests(line), requests(found), strict=True):
            assert one.edit == two.edit
            for metric in ("ifr", "preservation"):
                expected = one.number(metric, measure)
                assert two.number(metric, measure) == pytest.approx(expected, abs=1e-6)
            assert two.retention[measure].retention == pytest.approx(
                one.retention[measure].retention, abs=1e-6
            )


def _noted(asked: list[str]) -> Callable[..., probing.Answers]:
    answers_of = probing.answers_of

    def noted(runtime: Runtime, state: OpenState, asking: probing.ProbePlan) -> probing.Answers:
        asked.append(state.about.name)
        return answers_of(runtime, state, asking)

    return noted
