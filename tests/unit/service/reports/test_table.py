"""The table over several edits: Definition 3 on the union, counts beside means, formats."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from thinkeval.service.base.errors import NothingStoredError, UsageError
from thinkeval.service.cli.render import show_each_table, show_method_table
from thinkeval.service.models.edit import (
    DriftLine,
    KnownDrift,
    MetricValue,
    Score,
    SideEffects,
    SubjectOutcome,
)
from thinkeval.service.reports.comparison import common
from thinkeval.service.reports.formats import (
    FORMATS,
    Column,
    Table,
    frame_table,
    indexed,
    joined,
    parquet,
    render,
)
from thinkeval.service.reports.gate import Limit, check
from thinkeval.service.reports.table import (
    PAPER,
    by_rank,
    caption,
    caption_each,
    method_table,
    methods,
    scores_frame,
    unranked,
)
from thinkeval.service.reports.verdict import rank

# Two edits: chains as (steps, R'/R); the second has none of 3 steps.
CHAINS = {"a": [(1, 0.2), (2, 0.5), (2, 1.0), (3, 0.9)], "b": [(1, 0.4), (2, 0.1)]}


def _score(edit: str, chains: list[tuple[int, float]], preservation: float, n: int) -> Score:
    by_step: dict[int, list[float]] = {}
    for steps, ratio in chains:
        by_step.setdefault(steps, []).append(ratio)
    weight = sum(1 / math.sqrt(s) for s, _ in chains)
    ifr = sum(r / math.sqrt(s) for s, r in chains) / weight

    def value(metric: str, number: float, n: int, step: int | None = None) -> MetricValue:
        return MetricValue(metric=metric, measure="likelihood", step=step, value=number, n=n)

    values = [
        value("ifr", ifr, len(chains)),
        value("preservation", preservation, n),
        value("efficacy", 0.9, 1),
        value("generalization", 0.0, 0),
        *(
            value("ifr_by_steps", sum(by_step.get(s, [])) / max(len(by_step.get(s, [])), 1),
                  len(by_step.get(s, [])), s)
            for s in range(1, 6)
        ),
    ]  # fmt: skip
    return Score(
        edit=edit, dataset="d", rewrite=edit, subject="s", relation="r", prompt="{} r",
        target_true="o", target_new="o2", model="m", method="rome", values=values, n_facts=3,
    )  # fmt: skip


SCORES = [_score("a", CHAINS["a"], 0.8, 4), _score("b", CHAINS["b"], 1.0, 2)]


def test_pooled_ifr_is_definition_3_over_all_chains_of_all_rewrites() -> None:
    union = [chain for chains in CHAINS.values() for chain in chains]
    weight = sum(1 / math.sqrt(s) for s, _ in union)
    expected = sum(r / math.sqrt(s) for s, r in union) / weight
    row = method_table(SCORES, "likelihood").iloc[0]
    assert row["IFR"] == pytest.approx(expected, abs=1e-12)
    assert row["2-step"] == pytest.approx((0.5 + 1.0 + 0.1) / 3, abs=1e-12)
    assert row["chains"] == len(union)
    assert row["rewrites"] == 2


def test_what_was_taken_over_nothing_is_missing_not_zero() -> None:
    row = method_table(SCORES, "likelihood").iloc[0]
    assert math.isnan(row["4-step"])
    assert math.isnan(row["Generalization"])
    assert row["n gen."] == 0


def test_mean_over_rewrites_carries_its_spread() -> None:
    row = method_table(SCORES, "likelihood").iloc[0]
    per_rewrite = [s.get("ifr", "likelihood") for s in SCORES]
    a, b = (v.value for v in per_rewrite if v is not None)
    assert row["IFR mean"] == pytest.approx((a + b) / 2)
    assert row["IFR sd"] == pytest.approx(abs(a - b) / math.sqrt(2))


@pytest.mark.parametrize("style", sorted(FORMATS))
def test_every_format_holds_the_same_numbers(style: str) -> None:
    frame = method_table(SCORES, "likelihood")
    text = render(frame_table(frame), style)
    assert "rome" in text
    if style == "json":
        assert json.loads(text)[0]["IFR"] == pytest.approx(frame.iloc[0]["IFR"])
    elif style != "csv":
        assert f"{frame.iloc[0]['IFR']:.3f}" in text


def test_latex_rows_end_and_escape() -> None:
    frame = method_table([SCORES[0].model_copy(update={"method": "fine_tuning"})], "likelihood")
    lines = render(frame_table(frame, "of 50 %"), "latex").splitlines()
    assert lines[0] == "% of 50 %"
    assert lines[1].startswith(r"\begin{tabular}{llr")
    assert [line for line in lines if line.endswith("rule")] == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ]
    (row,) = [line for line in lines if r"fine\_tuning" in line]
    assert row.endswith(r"\\")


def test_a_paper_has_seven_columns_with_intervals_below_the_values() -> None:
    kl = SideEffects(kl=0.0004, kl_low=0.0003, kl_high=0.0005, texts=60)
    kept = MetricValue(metric="subject_retention", measure="likelihood", value=0.5, n=2)
    three = [
        score.model_copy(update={"values": [*score.values, kept]})
        for score in (*SCORES, _score("c", CHAINS["a"], 0.5, 4))
    ]
    three[2] = three[2].model_copy(update={"side_effects": kl})
    frame = method_table(three, "likelihood")
    table = methods(frame, caption(three, "likelihood", PAPER))
    lines = render(table, "latex").splitlines()
    comment = " ".join(line.removeprefix("% ") for line in lines if line.startswith("%"))
    assert all(len(line) < 100 for line in lines)
    assert "measure: likelihood (protocol unknown)" in comment
    assert "On m; n: rewrites;" in comment
    assert comment.endswith("Of fewer rewrites: rome: subject retention of 3, KL of 1.")
    (row,) = frame.to_dict("records")
    bounds = [
        f"[{row[f'{name} low']:.2f}, {row[f'{name} high']:.2f}]"
        for name in ("Efficacy", "IFR", "Preservation", "Subject retention")
    ]
    assert lines[lines.index(r"\begin{tabular}{lrrrrrr}") :] == [
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        r"Method & n & Efficacy & IFR & Preservation & Subject ret. & KL \\",
        r"\midrule",
        rf"rome & 3 & 0.900 & {row['IFR']:.3f} & {row['Preservation']:.3f} & 0.500 & 0.0004 \\",
        rf" &  & {' & '.join(bounds)} &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    wide = render(table, "csv").splitlines()[0].split(",")
    assert wide == list(frame.columns), "programs have every column"


def test_a_paper_names_the_models_where_there_are_several() -> None:
    two = [SCORES[0], SCORES[0].model_copy(update={"model": "other_one"})]
    lines = render(methods(method_table(two, "likelihood"), ""), "latex").splitlines()
    assert r"Model & Method & n & Efficacy & IFR & Preservation & Subject ret. & KL \\" in lines
    (row,) = [line for line in lines if line.startswith(r"other\_one &")]
    assert row.endswith(r" & -- & -- \\"), "neither subject retention nor KL was measured"


def test_csv_keeps_numbers_as_they_are() -> None:
    """A column of integers with a missing one had decimals in a data frame."""
    rows = [(3, 0.1 + 0.2, "a, b"), (None, math.nan, None)]
    assert render(Table("t", "", indexed("n", "x", "text"), rows), "csv").splitlines() == [
        "n,x,text", '3,0.30000000000000004,"a, b"', ",,",
    ]  # fmt: skip


def test_one_row_an_edit_keeps_counts() -> None:
    frame = scores_frame(SCORES, "likelihood")
    assert list(frame["edit"]) == ["a", "b"]
    assert frame["ifr_by_steps_2.n"].tolist() == [2, 1]


def test_one_row_an_edit_has_its_side_effects_with_their_n() -> None:
    line = DriftLine(
        label="all facts", n=9, missing=0, kept=6, weakened=2, replaced=0, lost=1, added=0,
        unknown=0, mean_moved=0.1, mean_shift=-0.1, median_change=0.97,
    )  # fmt: skip
    drift = KnownDrift(total=line, far=line.model_copy(update={"n": 4}), excluded=1, unasked=0)
    score = SCORES[0].model_copy(
        update={
            "provenance": {"seed": 2, "hparams_digest": "h", "model": {"digest": "w"}},
            "side_effects": SideEffects(
                kl=0.02, kl_low=0.01, kl_high=0.03, texts=60, perplexity_ratio=1.01, drift=drift
            ),
            "about_subject": SubjectOutcome(
                kept=1, weakened=2, replaced=1, followed=1, lost=2, n=6, excluded=0
            ),
        }
    )
    row = scores_frame([score, SCORES[1]], "p").iloc[0]
    assert (row["seed"], row["weights"], row["hparams"]) == (2, "w", "h")
    assert (row["kl"], row["kl.low"], row["kl.high"], row["kl.n"]) == (0.02, 0.01, 0.03, 60)
    kept = [row[f"known_{name}"] for name in ("kept", "weakened", "lost")]
    assert (*kept, row["known.n"]) == (6, 2, 1, 9)
    assert (row["change_far"], row["change_far.n"]) == (0.97, 4)
    changes = ("kept", "weakened", "replaced", "followed", "lost")
    about = [row[f"subject_{name}"] for name in changes]
    assert (*about, row["subject.n"]) == (1, 2, 1, 1, 2, 6)
    assert "update_norm" not in row  # not measured: no column, and never 0


def test_nothing_to_report_and_unknown_formats_are_errors() -> None:
    with pytest.raises(NothingStoredError):
        method_table([], "likelihood")
    with pytest.raises(UsageError, match="xlsx"):
        render(frame_table(method_table(SCORES, "likelihood")), "xlsx")


def test_gate_holds_at_the_limit_and_breaks_above() -> None:
    ifr = SCORES[0].get("ifr", "likelihood")
    assert ifr is not None
    assert ifr.value is not None

    def missed(max_ifr: float, min_preservation: float) -> list[str]:
        limits = [Limit("ifr", "<=", max_ifr), Limit("preservation", ">=", min_preservation)]
        return [each.line for each in check(SCORES[0], limits, "likelihood") if not each.met]

    assert missed(ifr.value, 0.8) == []
    broken = missed(ifr.value - 1e-6, 0.81)
    assert len(broken) == 2
    assert "thinkeval results chains a --surviving" in broken[0]


def _retention(value: float | None, n: int) -> Score:
    metric = MetricValue(metric="subject_retention", measure="likelihood", value=value, n=n)
    return SCORES[0].model_copy(update={"values": [*SCORES[0].values, metric]})


def test_the_gate_on_subject_retention_names_the_subject_and_its_facts() -> None:
    limits = [Limit("subject_retention", ">=", 0.8)]
    (met,) = check(_retention(0.8, 4), limits, "likelihood")
    assert met.met
    (missed,) = check(_retention(0.278, 4), limits, "likelihood")
    assert missed.line == "gate: a: subject retention 0.2780 < 0.8 over 4 facts about s"


def test_what_is_undefined_does_not_pass_a_gate() -> None:
    limits = [Limit("subject_retention", ">=", 0.8)]
    (missed,) = check(_retention(None, 0), limits, "likelihood")
    assert (missed.met, missed.line) == (
        False,
        "gate: a: subject retention is undefined: no fact was measured",
    )
    reason = "the model knows 0 of 15 facts"
    unknown = _retention(None, 0)
    unknown.values[-1] = unknown.values[-1].model_copy(update={"reason": reason})
    (missed,) = check(unknown, limits, "likelihood")
    assert missed.line == f"gate: a: subject retention is undefined: {reason}"
    (missed,) = check(unknown, [Limit("ifr", "<=", 0.1)], "p")  # never taken
    assert "IFR is undefined" in missed.line


def test_parquet_keeps_the_numbers_and_the_caption() -> None:
    frame = method_table(SCORES, "likelihood")
    read = pd.read_parquet(io.BytesIO(parquet(frame_table(frame, "what it is"))))
    pd.testing.assert_frame_equal(read, frame)
    assert read.attrs["caption"] == "what it is"
    each = scores_frame(SCORES, "likelihood")
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(parquet(frame_table(each)))), each)


def test_programs_read_their_own_columns_in_every_format_of_data() -> None:
    """A reader sees the interval beside the mean, a program one number a cell."""
    readers = [Column("IFR", lambda row: f"{row[0]} [{row[1]}]")]
    table = Table("t", "", readers, [(0.5, 0.25)], values=indexed("IFR", "IFR low"))
    assert render(table, "csv").splitlines() == ["IFR,IFR low", "0.5,0.25"]
    assert json.loads(render(table, "json")) == [{"IFR": 0.5, "IFR low": 0.25}]
    read = pd.read_parquet(io.BytesIO(parquet(table)))
    assert read.to_dict("records") == [{"IFR": 0.5, "IFR low": 0.25}]
    assert "| 0.5 [0.25] |" in render(table, "markdown")
    assert "IFR low" not in render(table, "latex")


def test_parquet_is_not_printed() -> None:
    with pytest.raises(UsageError, match="cannot be printed"):
        render(frame_table(method_table(SCORES, "likelihood")), "parquet")


def test_caption_explains_the_columns_that_are_shown_and_no_others() -> None:
    whole = caption(SCORES, "likelihood")
    assert "IFR mean and sd are over rewrites" in whole
    assert "interval" not in whole  # two rewrites have none
    shown = caption(SCORES, "likelihood", ["Method", "IFR"])
    assert "IFR mean" not in shown
    three = [*SCORES, _score("c", CHAINS["a"], 0.5, 4)]
    assert "`low`, `high`: 95 % interval over rewrites (bootstrap)." in caption(three, "likelihood")
    brackets = caption(three, "likelihood", ["Method", "IFR"])
    assert brackets.endswith("[low, high]: 95 % interval over rewrites (bootstrap).")


def _with_subject(score: Score, retention: float | None, beyond: float) -> Score:
    n = int(retention is not None) * 3
    more = [
        MetricValue(metric="subject_retention", measure="likelihood", value=retention, n=n),
        MetricValue(metric="ifr_beyond_subject", measure="likelihood", value=beyond, n=4),
    ]
    return score.model_copy(update={"values": [*score.values, *more]})


def test_retention_is_the_mean_where_it_is_defined_and_ifr_beyond_is_pooled_over_chains() -> None:
    scores = [_with_subject(SCORES[0], 0.2, 0.9), _with_subject(SCORES[1], None, 0.3)]
    row = method_table(scores, "likelihood").iloc[0]
    assert (row["Subject retention"], row["n ret."]) == (0.2, 1)
    weights = [sum(1 / math.sqrt(steps) for steps, _ in CHAINS[edit]) for edit in "ab"]
    wanted = (0.9 * weights[0] + 0.3 * weights[1]) / sum(weights)
    assert row["IFR beyond subject"] == pytest.approx(wanted, abs=1e-12)
    assert row["IFR beyond mean"] == pytest.approx(0.6)
    assert "undefined for 1 of 2 edits" in caption(scores, "likelihood")


def test_the_unit_of_the_intervals_is_the_family() -> None:
    """Two families of three rewrites have no interval, three have; the caption says which unit."""
    scores = [_score(edit, CHAINS["a"], 0.5 + 0.1 * i, 4) for i, edit in enumerate("abcdef")]
    two = {edit: "abc"[i // 3] for i, edit in enumerate("abcdef")}
    three = {edit: "abc"[i // 2] for i, edit in enumerate("abcdef")}
    assert math.isnan(method_table(scores, "likelihood", two).iloc[0]["Preservation low"])
    row = method_table(scores, "likelihood", three).iloc[0]
    assert (row["rewrites"], row["families"]) == (6, 3)
    # The mean over three families of two rewrites is at least that of the lowest family.
    assert row["Preservation low"] == pytest.approx(0.55)
    text = caption(scores, "likelihood", families=three)
    assert (
        "over families of rewrites that share chain facts (bootstrap; 3 families of 6 rewrites)"
        in text
    )


def test_intervals_of_one_edit_stand_in_its_row_and_are_explained() -> None:
    score = SCORES[0].model_copy(deep=True)
    score.values[0] = score.values[0].model_copy(update={"low": 0.1, "high": 0.9})
    row = scores_frame([score], "likelihood").iloc[0]
    assert (row["ifr.low"], row["ifr.high"]) == (0.1, 0.9)
    assert "of the sampled answers to one rewrite" in caption([score], "likelihood")
    assert "IFR is Definition 3" not in caption_each([score], "likelihood")


def test_the_terminal_table_explains_its_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    scores = [*SCORES, _score("c", CHAINS["a"], 0.5, 4)]
    show_method_table(common(scores, "likelihood"), "likelihood", protocol=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "[low, high]: 95 % interval over rewrites (bootstrap)." in said
    assert "IFR sd" not in said


def _by(method: str, ifr: float, **values: float) -> Score:
    """A score by a method of one chain; `values` replace or add metrics."""
    score = _score(method, [(1, ifr)], 0.9, 4)
    kept = [value for value in score.values if value.metric not in values]
    kept += [
        MetricValue(metric=name, measure="likelihood", value=value, n=1)
        for name, value in values.items()
    ]
    return score.model_copy(update={"method": method, "values": kept})


def test_rows_of_methods_are_in_the_order_of_rank_whatever_their_ifr() -> None:
    scores = [
        _by("a", 0.9),
        _by("b", 0.5),
        _by("broke", 0.0, preservation_symmetric=0.1),
        _by("worse", 0.1, preservation_symmetric=0.05),
        _by("missed", 0.01, efficacy=0.2),
        _by("nearer", 0.9, efficacy=0.4),
    ]
    frame = method_table(scores, "likelihood")
    ranked = by_rank(frame, scores, "likelihood")["Method"].tolist()
    assert ranked == ["b", "a", "broke", "worse", "nearer", "missed"]
    assert ranked == [score.method for score in rank(scores, "likelihood")]
    assert by_rank(frame, scores, "likelihood", ranked=False)["Method"].tolist() == sorted(ranked)
    assert unranked(scores, "likelihood") == (
        "Listed last, whatever their IFR: broke the model: broke, worse;"
        " took in part or not: missed, nearer."
    )
    assert unranked(scores[:2], "likelihood") == ""
    assert "No method took and kept the model (broke the model: broke" in unranked(
        scores[2:4], "likelihood"
    )


def test_the_terminal_lists_edits_that_did_not_take_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    idle = _score("idle", [(1, 0.0)], 1.0, 2)
    values = [v.model_copy(update={"value": 0.2}) if v.metric == "efficacy" else v
              for v in idle.values]  # fmt: skip
    idle = idle.model_copy(update={"values": values, "method": "weak"})
    show_each_table([idle, *SCORES], "likelihood")
    text = capsys.readouterr().out
    assert re.findall(r"\s(idle|a|b)\s*$", text, re.M) == ["b", "a", "idle"]
    assert "`thinkeval report --protocol` prints the rules" in " ".join(text.split())
    took = SCORES[0].model_copy(update={"rewrite": "idle"})
    show_method_table(common([idle, took], "likelihood"), "likelihood", protocol=True)
    text = capsys.readouterr().out
    assert text.index("rome") < text.index("weak")
    assert "whatever their IFR: took in part or not: weak." in " ".join(text.split())


def test_the_table_of_methods_fits_80_columns_with_whole_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_method_table(
        common([*SCORES, _score("c", CHAINS["a"], 0.5, 4)], "likelihood"), "likelihood"
    )
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 80
    words = ("Efficacy", "IFR", "Preservation", "Subject", "retention")
    assert all(word in shown for word in words)
    assert "[" in shown.partition("Omitted")[0]  # the intervals stay
    show_each_table(SCORES, "likelihood")
    shown = capsys.readouterr().out
    assert all(score.edit in shown for score in SCORES)


def test_the_table_of_methods_where_no_terminal_is_has_no_empty_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show_method_table(common(SCORES, "likelihood"), "likelihood")
    _, header, *_, note = capsys.readouterr().out.splitlines()
    assert "Preservation" in header
    assert "Generalization" not in header
    assert note.startswith("Likelihood;")
    assert len(note) < 150


def test_columns_of_a_file_are_joined_by_the_first_column(tmp_path: Path) -> None:
    table = Table("states", "States", indexed("state", "IFR"), [("a-1", 0.5), ("b", None)])
    file = tmp_path / "depth.csv"
    file.write_text("checkpoint,depth,note\nb,0.25,kept\nc,1,\na-1 ,,\n")
    wider = joined(table, file)
    assert [column.header for column in wider.columns] == ["state", "IFR", "depth", "note"]
    assert json.loads(render(wider, "json")) == [
        {"state": "a-1", "IFR": 0.5, "depth": None, "note": None},
        {"state": "b", "IFR": None, "depth": 0.25, "note": "kept"},
    ]
    file.write_text("checkpoint,depth\nx,1\n")
    assert joined(table, file) is table
    for text in ("", "checkpoint\nb\n", "checkpoint,depth\nb,1\nb,2\n"):
        file.write_text(text)
        with pytest.raises(UsageError) as caught:
            joined(table, file)
        assert caught.value.remedy
