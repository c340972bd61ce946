"""The matrix of rewrites by methods, and chains by edits."""

from __future__ import annotations

from dataclasses import fields
from statistics import fmean

import pytest

from thinkeval.cypher.rows import PageEditRow
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.comparison import common
from thinkeval.service.web.pages import matrix
from thinkeval.service.web.pages import matrix as grid
from thinkeval.service.web.pages.matrix import GridCell, GridRow


def _score(method: str, rewrite: str, ifr: float, efficacy: float = 1.0, seed: int = 0) -> Score:
    values = [
        MetricValue(metric="efficacy", measure="likelihood", value=efficacy, n=1),
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=4),
        MetricValue(metric="ifr_by_steps", measure="likelihood", step=2, value=ifr, n=4),
    ]
    return Score(
        edit=f"{method}-{rewrite}-{seed}", dataset="d", rewrite=rewrite, subject=f"S {rewrite}",
        relation="r", prompt="{} r", target_true="o", target_new="n", model="m", method=method,
        values=values, n_facts=1,
    )  # fmt: skip


def _open(method: str, rewrite: str, status: str, error: str | None = None) -> PageEditRow:
    named = dict.fromkeys(each.name for each in fields(PageEditRow))
    named |= {
        "id": f"{method}-{rewrite}", "dataset": "d", "rewrite": rewrite, "model": "m",
        "method": method, "status": status, "error": error,
    }  # fmt: skip
    return PageEditRow(**named)


SCORES = [
    _score("none", "r1", 0.0, efficacy=0.0),
    _score("rome", "r1", 0.3),
    _score("memit", "r1", 0.1),
    _score("none", "r2", 1.0, efficacy=0.0),
    _score("rome", "r2", 0.5),
    _score("memit", "r2", 0.9),
]


def test_the_best_cell_of_a_row_is_the_lowest_that_took() -> None:
    found = matrix.build(SCORES, "likelihood")
    assert [method for _, method in found.columns] == ["memit", "none", "rome"]
    assert not found.several
    first, second = found.rows.items
    assert [(row.best.score.method, row.best.kept) for row in (first, second) if row.best] == [
        ("memit", True), ("rome", True),
    ]  # fmt: skip
    none = first.cells["m", "none"]
    assert (none.took, none.band, none.ifr) == (False, "", 0.0), "lowest, and installs nothing"


def test_a_row_in_which_no_edit_kept_the_model_has_no_best_cell() -> None:
    broke = MetricValue(metric="preservation_symmetric", measure="likelihood", value=0.2, n=9)
    scores = [
        score.model_copy(update={"values": [*score.values, broke]})
        for score in SCORES
        if score.method != "none"
    ]
    for row in matrix.build(scores, "likelihood").rows.items:
        assert row.best is not None
        assert not row.best.kept


def test_colours_rise_with_ifr_and_their_bounds_belong_to_the_lower_class() -> None:
    assert [matrix.band(v) for v in (0.0, 0.05, 0.051, 0.4, 0.8, 0.81, 1.3)] == [
        "h0", "h0", "h1", "h2", "h4", "h5", "h5",
    ]  # fmt: skip
    assert matrix.band(None) == ""


def test_open_and_failed_edits_are_shown_where_nothing_is_scored() -> None:
    entries = [
        _score("rome", "r1", 0.3),
        _open("rome", "r1", "queued"),
        _open("memit", "r1", "failed", "no covariance"),
    ]
    (row,) = matrix.build(entries, "likelihood").rows.items
    memit, rome = row.cells["m", "memit"], row.cells["m", "rome"]
    assert (memit.status, memit.error, memit.ifr) == ("failed", "no covariance", None)
    assert (rome.status, rome.ifr, rome.n) == ("succeeded", 0.3, 1)


def test_several_seeds_are_a_mean_and_say_how_many() -> None:
    scores = [_score("rome", "r1", ifr, seed=i) for i, ifr in enumerate((0.1, 0.4, 0.7))]
    (row,) = matrix.build(scores, "likelihood").rows.items
    (cell,) = row.cells.values()
    assert (cell.n, cell.ifr) == (3, pytest.approx(0.4))


def test_rewrites_are_ordered_by_name_mean_or_spread() -> None:
    entries = [*SCORES, _score("rome", "r3", 0.95)]
    orders = {
        order: [
            row.entry.rewrite for row in matrix.build(entries, "likelihood", order=order).rows.items
        ]
        for order in ("name", "ifr", "spread")
    }
    assert orders == {
        "name": ["r1", "r2", "r3"], "ifr": ["r3", "r2", "r1"], "spread": ["r2", "r1", "r3"],
    }  # fmt: skip


def test_the_last_line_pools_common_rewrites_only() -> None:
    scores = [*SCORES, _score("rome", "r3", 0.9)]
    compared = common(scores, "likelihood")
    found = matrix.build(scores, "likelihood", compared)
    pooled = {method: value for (_, method), value in found.foot.items()}
    assert pooled == pytest.approx(
        {"memit": fmean((0.1, 0.9)), "none": 0.5, "rome": fmean((0.3, 0.5))}
    )
    assert found.rows.total == 3, "the rewrite of one method is still shown"


def test_a_page_beyond_the_last_is_the_last() -> None:
    scores = [_score("rome", f"r{i:02}", 0.1) for i in range(matrix.ROWS + 3)]
    found = matrix.build(scores, "likelihood", page=9)
    assert (found.rows.number, found.rows.pages, len(found.rows.items)) == (2, 2, 3)


def _chain(name: str, cells: list[tuple[float, bool]]) -> GridRow:
    found = {
        edit: GridCell(ratio, surviving)
        for edit, (ratio, surviving) in zip(("rome", "memit", "none"), cells, strict=True)
    }
    return GridRow(("s", name, "o"), 2, found, frozenset({"rome", "memit"}))


def test_chains_differ_by_the_edits_that_took() -> None:
    left = _chain("a", [(0.9, True), (0.8, True), (1.0, True)])
    cut = _chain("b", [(0.0, False), (0.0, False), (1.0, True)])
    some = _chain("c", [(0.9, True), (0.0, False), (1.0, True)])
    assert [row.kind for row in (left, cut, some)] == ["survive", "cut", "differ"]
    assert cut.spread == 0.0, "the edit without effect is not compared"
    found = grid.shown([left, cut, some], "differ", 1)
    assert found.rows.items == [some]
    assert found.counts == {"all": 3, "differ": 1, "survive": 1, "cut": 1}
    assert grid.shown([], "all", 5).rows.number == 1
