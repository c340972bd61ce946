"""The protocol's metrics of stored runs, and tables in the layout of the paper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...cypher import rows
from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..base.formatting import pluralize
from ..base.statistics import effective, wilson
from ..models.depedit import Fraction, Mean, MethodRow
from ..reports.formats import Column, Table, records, render

if TYPE_CHECKING:
    from ...cypher.rows.depedit import Setting, Source
    from ...cypher.run import Database


TITLES: Mapping[str, str] = {
    "est_s": "Est.S",
    "est_i": "Est.I",
    "upd_s": "Upd.S",
    "upd_i": "Upd.I",
    "cons_ns": "Cons.NS",
    "cons_u": "Cons.U",
    "cons_ni": "Cons.NI",
}
"""Names of the metrics in the paper, by those in depedit/metrics."""
METRICS = tuple(TITLES)


def metrics_of(db: Database, run: str) -> dict[str, Fraction]:
    """The seven metrics of a stored run, by name.

    Raises:
        NotFoundError: no such run.
    """
    return metrics_of_runs(db, [run])[run]


def metrics_of_runs(db: Database, runs: Sequence[str]) -> dict[str, dict[str, Fraction]]:
    """The seven metrics of several runs: {run: {metric: fraction}}, in the order of `runs`.

    Raises:
        NotFoundError: one of them is not stored.
    """
    ids = list(dict.fromkeys(runs))
    stored = {row.id for row in db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=ids)}
    for run in ids:
        if run not in stored:
            known = [row.id for row in db.read(rows.ProtocolRunRow, "depedit/list_runs")]
            raise NotFoundError("run", run, known, listing="thinkeval lab depedit list --runs")
    found = {run: dict.fromkeys(METRICS, Fraction(None, 0, 0)) for run in ids}
    for row in db.read(rows.FractionRow, "depedit/metrics", runs=ids):
        found[row.id][row.metric] = Fraction(row.value, row.n, row.copies)
    return found


# Tables of runs in the layout of the paper: means over sets, each with its n.
#
# `specificity` has the columns of Table 3, `implications` those of Tables 4 and 7: each mean has
# its gain over the editor that the strategy wraps. A mean travels with the number of answers it
# rests on and their interval: sets of 2 and of 8 answers weigh alike in it. In a terminal they
# share a cell: `98.8 (+90.3) [93, 100] n=72` is a fraction in percent, its gain, the interval and
# the answers. The last column is the number of sets; a cell with fewer sets says so.

SPECIFICITY = ("est_s", "upd_s", "cons_ns", "cons_u")
IMPLICATIONS = ("est_i", "upd_i", "cons_ni")
TABLES: Mapping[str, tuple[str, ...]] = {
    "specificity": SPECIFICITY,
    "implications": IMPLICATIONS,
}


def methods(
    db: Database,
    *,
    dataset: str | None = None,
    setting: str | None = None,
    model: str | None = None,
    sets: Sequence[str] | None = None,
    runs: Collection[str] | None = None,
) -> list[MethodRow]:
    """The rows of the tables, by setting and model; methods in the order of their first runs.

    Of several runs of one method on one set only the newest counts.

    Args:
        runs: of the methods of these runs, count these alone, whatever was run since.

    Raises:
        NothingStoredError: no such run.
    """
    from .store import list_runs

    found = list_runs(db, sets=sets, dataset=dataset, setting=setting, model=model)
    if runs is not None:
        named = {run.method for run in found if run.id in runs}
        found = [run for run in found if run.id in runs or run.method not in named]
    if not found:
        raise NothingStoredError(
            "There is no run of the protocol to report on.",
            remedy="Run one: `thinkeval lab depedit run SET --strategy finetune`.",
        )
    newest: dict[tuple[Setting, Source, int, str, str], dict[str, rows.ProtocolRunRow]] = {}
    for run in found:
        key = (run.setting, run.init, run.n_specific, run.model, run.method)
        newest.setdefault(key, {})[run.knowledge_set] = run
    counted = [run.id for runs in newest.values() for run in runs.values()]
    metrics = metrics_of_runs(db, counted)
    by_set = {
        key: {name: metrics[run.id] for name, run in runs.items()} for key, runs in newest.items()
    }
    rows_ = []
    for key in sorted(newest, key=lambda key: key[:4]):
        any_run = next(iter(newest[key].values()))
        plain = by_set.get((*key[:4], any_run.editor or ""), {})
        rows_.append(
            MethodRow(
                *key,
                strategy=any_run.strategy,
                editor=any_run.editor,
                runs=len(newest[key]),
                means={name: _mean(s[name] for s in by_set[key].values()) for name in TITLES},
                gains=_gains(by_set[key], plain),
            )
        )
    return rows_


def _mean(shares: Iterable[Fraction]) -> Mean:
    found = [(share.value, share.n) for share in shares if share.value is not None]
    if not found:
        return Mean(None, 0, 0)
    counts = [n for _, n in found]
    value = sum(value for value, _ in found) / len(found)
    return Mean(value, len(found), sum(counts), *wilson(value, effective(counts)))


def _gains(
    own: Mapping[str, Mapping[str, Fraction]], plain: Mapping[str, Mapping[str, Fraction]]
) -> dict[str, Mean]:
    gains = {}
    for name in IMPLICATIONS:
        pairs = [(own[s][name].value, plain[s][name].value) for s in own if s in plain]
        values = [a - b for a, b in pairs if a is not None and b is not None]
        if values:
            gains[name] = Mean(sum(values) / len(values), len(values))
    return gains


def columns(table: str) -> list[Column[MethodRow]]:
    """The columns of one of TABLES, fractions in percent; beside each sets, answers, interval.

    Raises:
        UsageError: no such table.
    """
    if table not in TABLES:
        raise UsageError(f"{table!r} is not a table.", remedy=f"Use one of {', '.join(TABLES)}.")
    found: list[Column[MethodRow]] = [
        Column("Setting", lambda row: row.setting),
        Column("Facts", lambda row: row.facts),
        Column("Model", lambda row: row.model),
        Column("Method", lambda row: row.method),
    ]
    for name in TABLES[table]:
        found += _with_n(TITLES[name], partial(_mean_of, metric=name), " (%)")
        found += _with_interval(TITLES[name], partial(_mean_of, metric=name))
        if table == "implications":
            found += _with_n(f"gain {TITLES[name]}", partial(_gain, metric=name))
    return found


def _with_n(
    title: str, mean: Callable[[MethodRow], Mean], unit: str = ""
) -> list[Column[MethodRow]]:
    return [
        Column(f"{title}{unit}", lambda row: _percent(mean(row).value)),
        Column(f"n {title}", lambda row: mean(row).n),
    ]


def _with_interval(title: str, mean: Callable[[MethodRow], Mean]) -> list[Column[MethodRow]]:
    return [
        Column(f"answers {title}", lambda row: mean(row).answers),
        Column(f"low {title} (%)", lambda row: _percent(mean(row).low)),
        Column(f"high {title} (%)", lambda row: _percent(mean(row).high)),
    ]


def _mean_of(row: MethodRow, metric: str) -> Mean:
    return row.means[metric]


def _gain(row: MethodRow, metric: str) -> Mean:
    return row.gains.get(metric, Mean(None, 0))


def _percent(value: float | None) -> float:
    # A difference of equal means may be slightly below 0 by rounding, which prints -0.000.
    return float("nan") if value is None else round(100 * value, 9) + 0.0


_INTERVAL = (
    " answers: their number in all sets; low, high: 95 % Wilson interval, with answers as"
    " independent and sets weighed alike."
)
CAPTIONS: Mapping[str, str] = {
    "specificity": "Percent, means over n knowledge sets (DepEdit, Table 3). Facts: number of"
    " specific facts a set, stored as in the graph or shuffled, so that no model knows them."
    " Est: answered as established; Upd: answered as updated; Cons: answered as before the update"
    " (NS: specific facts without an update, U: unrelated facts);" + _INTERVAL,
    "implications": "Percent, means over n knowledge sets (DepEdit, Tables 4 and 7). Est.I:"
    " implications of the established facts; Upd.I: implications changed by the update, after it;"
    " Cons.NI: unchanged implications, answered as before the update. Gain: difference to the"
    " editor that the method wraps, over the sets of both; in brackets without a column;"
    + _INTERVAL,
}


def text(found: Sequence[MethodRow], tables: Sequence[str], style: str) -> str:
    """The tables in one of `reports.formats.FORMATS`, with captions in text formats.

    Raises:
        UsageError: no such table or format.
    """
    import json

    made = [Table(name, name, columns(name), found, CAPTIONS[name]) for name in tables]
    if style == "json":
        parts = {each.name: records(each) for each in made}
        return json.dumps(parts, ensure_ascii=False, indent=2) + "\n"
    return "\n".join(render(each, style) for each in made)


def table(found: Sequence[MethodRow], name: str) -> Table[MethodRow]:
    """Return one of TABLES; setting, facts and model are columns only where rows differ."""
    lead: list[Column[MethodRow]] = [
        Column("Setting", lambda row: row.setting),
        Column("Facts", lambda row: row.facts),
        Column("Model", lambda row: row.model),
    ]
    shown: list[Column[MethodRow]] = [
        *(column for column in lead if len({column.get(row) for row in found}) > 1),
        Column("Method", lambda row: row.method),
        *(Column(TITLES[metric], partial(_cell, metric=metric)) for metric in TABLES[name]),
        Column("sets", lambda row: str(row.runs)),
    ]
    title = f"{', '.join(dict.fromkeys(row.model for row in found))}: {name}, %"
    return Table(name, title, shown, found, CAPTIONS[name], values=columns(name))


def _cell(row: MethodRow, metric: str) -> str:
    mean = row.means[metric]
    if mean.value is None:
        return "–"
    gain = _gain(row, metric)
    text = f"{100 * mean.value:.1f}"
    if gain.value is not None:
        # A difference of equal means may be slightly below 0 by rounding, which prints -0.0.
        text += f" ({round(100 * gain.value, 1) + 0.0:+.1f})"
    text += f" [{100 * (mean.low or 0.0):.0f}, {100 * (mean.high or 0.0):.0f}] n={mean.answers}"
    return text if mean.n == row.runs else f"{text} in {pluralize(mean.n, 'set')}"


def sets_table(
    title: str,
    found: Sequence[rows.KnowledgeSetRow],
    saved: Mapping[str, str] | None = None,
    note: str = "",
) -> Table[rows.KnowledgeSetRow]:
    """Return the table of knowledge sets, with the status of each in `saved`."""
    columns: list[Column[rows.KnowledgeSetRow]] = [
        Column("id", lambda r: r.id, whole=True, link=lambda r: f"/depedit/sets/{quote(r.id)}"),
        Column("setting", lambda r: r.setting),
        Column("init", lambda r: r.init, optional=3),
        Column("facts", lambda r: f"{r.n_specific} + {r.n_unrelated}"),
        Column("implications", lambda r: r.n_implications, optional=1),
        Column("copies", lambda r: r.n_copies, optional=2),
        Column("runs", lambda r: r.n_runs),
    ]
    if saved:
        columns.append(Column("status", lambda r: saved[r.id]))
    return Table("sets", title, columns, found, note)
