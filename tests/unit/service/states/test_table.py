"""The tables and sentences of a comparison: of one state, and of several."""

from __future__ import annotations

import pytest

from support.states.comparisons import LATER, comparison, sequence, state, watched
from thinkeval.service.base.errors import UsageError
from thinkeval.service.reports import formats
from thinkeval.service.states import table


def test_the_verdict_comes_first_then_counts() -> None:
    headline, counts, routes = table.sentences(comparison())
    assert headline.startswith("It leaks: 2 of 2 facts changed, but still given or deduced")
    wanted = "Of 7 facts that ab knows, 4 are kept, 2 weakened, 0 replaced and 1 lost; 1 are new."
    assert counts == wanted
    assert routes == "8 routes to an old object closed, 2 opened."


def test_facts_that_changed_are_named_everywhere() -> None:
    """The table of terminal and pages, the frame, both displays of Python; routes with chains."""
    out = comparison()
    changed = table.tables(out)[0]
    lines = formats.render(formats.Table("t", "", changed.columns, changed.rows), "markdown")
    assert "| Ada lived in London | .90 → .010 | Paris | London | replaced by Paris |" in lines
    assert "| Charles knew Ada | .80 → .30 | – | – | weakened |" in lines
    assert changed.note == "4 facts changed."
    frame = out.to_frame()
    assert list(frame["object"]) == ["London", "Ada", "France", "Ada"]
    assert list(frame["change"]) == ["replaced", "weakened", "weakened", "added"]
    assert set(out.to_frame("drift")["by"]) == {"all", "distance", "relation"}
    for text in (repr(out), out._repr_html_()):  # names are escaped in HTML
        assert "Charles knew Ada weakened, 0.800" in text
        assert "Ada lived in Paris (was London)" in text
        assert "It leaks" in text
    (closed,) = table.routes_tables(out, "likelihood")
    assert closed.columns[0].get(closed.rows[0]) == "Ada knew Charles, Charles lived in London"
    assert closed.note == "8 chains closed."
    assert formats.render(changed, "csv").splitlines()[1].startswith("cd,f1,Ada,lived-in,London")


def test_notes_and_digests_are_kept_for_the_protocol() -> None:
    note, base, after = table.protocol(comparison())
    assert note == "A note."
    assert base.startswith("Base ab: state ab, kind model, digest abab")
    assert "dtype float32" in after
    record = table.flat({"quantisation": {"scheme": "int8", "n": 2}, "edits": [{"edit": "e"}]})
    assert record == {"quantisation scheme": "int8", "quantisation n": 2, "edits 1 edit": "e"}


def test_kinds_have_tables_of_their_own() -> None:
    out = state()
    assert table.kinds(out) == ["replace", "forget"]
    for kind, metric, text in (
        ("replace", "efficacy", "Ada lived in: London → Paris"),
        ("forget", "leak@100", "Ada lived in: London forgotten"),
    ):
        columns = table.request_columns(kind, "likelihood")
        (row,) = [each for each in out.requests if each.kind == kind]
        shown = {column.header: column.get(row) for column in columns}
        assert shown["fact"] == text
        assert shown["routes"] == "7 → 4 (+1 −4)"
        assert metric in shown
        assert shown["IFR"] == 0.25
    assert table.forgotten_unknown(out.requests, "likelihood") == 0
    names = [each.name for each in table.tables(comparison())]
    assert names == ["changed", "closed", "replace-requests", "forget-requests", "drift"]


def test_drift_lists_all_facts_then_distances_then_relations() -> None:
    lines = table.drift_lines(state(), "likelihood", 2)
    assert [line.label for line in lines] == [
        "all facts", "0 steps: facts with the subject at one end",
        "1 step", "relation 0", "relation 1",
    ]  # fmt: skip
    text = formats.render(formats.Table("drift", "", table.DRIFT, lines), "markdown")
    assert text.splitlines()[0].count("|") == len(table.DRIFT) + 1
    assert len(table.drift_lines(state(), "likelihood", None)) == 18
    drift = table.tables(comparison())[-1]
    assert len(drift.rows) == 18
    assert formats.render(drift, "csv").splitlines()[1].startswith("all facts,9,4,2,0,1,1,1")


def test_a_measure_that_was_not_taken_is_refused() -> None:
    assert table.measure_of(comparison(), None) == "likelihood"
    with pytest.raises(UsageError, match="not compared by 'p'"):
        table.measure_of(comparison(), "p")


def test_several_states_have_a_row_each_with_the_retention_of_the_first_change() -> None:
    states, changed, _, drift = table.tables(sequence())
    assert len(changed.rows) == 4 * len(LATER)
    assert changed.columns[0].header == "state"
    lines = formats.render(states, "csv").splitlines()
    assert lines[0].startswith("state,retention,p(new),p(old),IFR,chains")
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [spec, str(retention)] for spec, retention, _ in LATER
    ]
    assert "| 1 of 3 |" in formats.render(states, "markdown")
    assert "Retention: p(new) in the state divided by p(new) in the first one" in states.rules
    assert len(drift.rows) == len(LATER)


def test_the_sentences_name_the_chain_that_is_open_again() -> None:
    said = table.sentences(sequence())
    assert said == [
        "After 2 later states, 0.400 of the change is left.",
        "First open again, in +finetune:graph:steps=200: 1 of 3 closed chains; the strongest"
        " (product 0.90000 in the base, 0.00100 in the first state, 0.80000 now):",
        "  Ada knows Bob (0.900 → 0.100 → 0.800)",
    ]


def test_retention_that_is_undefined_says_why() -> None:
    out = sequence()
    last = out.states[-1]
    (request,) = last.requests
    reason = "in the first state, p(new object) is 0.01, below .05"
    kept = request.retention["likelihood"].model_copy(
        update={"retention": None, "undefined": reason}
    )
    request = request.model_copy(update={"retention": {"likelihood": kept}})
    states = [*out.states[:-1], last.model_copy(update={"requests": [request]})]
    said = table.sentences(out.model_copy(update={"states": states}))
    assert said[0] == f"Retention is undefined: {reason}."


def test_watched_states_have_a_verdict_each_and_no_retention() -> None:
    out = watched(sequence())
    states, *_ = table.tables(out)
    assert [column.header for column in states.columns] == ["state"]
    said = table.sentences(out)
    assert len(said) == len(LATER)
    assert all("4 are kept" in each for each in said)
    with pytest.raises(UsageError, match="Retention is that of a request"):
        table.retention_figure(out, "svg")
    with pytest.raises(UsageError, match="Retention is that of a request"):
        table.retention_figure(comparison(), "svg")


@pytest.mark.parametrize("made", [comparison, sequence])
def test_both_kinds_of_comparison_are_drawn(made: type) -> None:
    assert table.figure(made(), "svg").startswith(b"<?xml")
    if made is sequence:
        drawn = table.retention_figure(made(), "svg")
        assert drawn == table.retention_figure(made(), "svg")
        assert b"open again" in drawn
