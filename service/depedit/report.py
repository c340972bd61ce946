"""Tables of runs in the shape of the paper's: means over sets, each with its n.

`specificity` has the columns of Table 3, `implications` those of Tables 4 and 7: there the gain
over the editor that a strategy wraps stands beside each share.

The paper's tables as a terminal shows them: one short cell a number, its gain in brackets.

`98.8 (+90.3)` is a share in percent and the gain over the editor that the strategy wraps, as in
DepEdit's Table 7. Numbers are means over the sets in the last column; where a metric is defined on
fewer of them, its cell says on how many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thinkeval.service.depedit.metrics import TITLES, metrics_of_runs
from thinkeval.service.depedit.schemas import Fraction, Mean, MethodRow
from thinkeval.service.errors import NothingStoredError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from thinkeval.cypher import rows
    from thinkeval.cypher.rows.depedit import Setting, Source
    from thinkeval.cypher.run import Database

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
) -> list[MethodRow]:
    """The rows of the tables by setting and model, methods as they were first run.

    Of several runs of one method on one set the newest counts.

    Raises:
        NothingStoredError: there is no run of that kind.
    """
    from thinkeval.service.depedit.store import list_runs

    found = list_runs(db, sets=sets, dataset=dataset, setting=setting, model=model)
    if not found:
        raise NothingStoredError(
            "There is no run of the protocol yet to report on.",
            remedy="Run one: `thinkeval depedit run SET --strategy finetune`.",
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


def _mean(shares: Any) -> Mean:
    values = [share.value for share in shares if share.value is not None]
    return Mean(sum(values) / len(values) if values else None, len(values))


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


def frame(found: Sequence[MethodRow], table: str) -> pd.DataFrame:
    """One of TABLES, shares in percent; beside each column its n, the sets it was taken over.

    Raises:
        UsageError: there is no table of that name.
    """
    import pandas as pd

    if table not in TABLES:
        raise UsageError(f"{table!r} is no table.", remedy=f"Use one of {', '.join(TABLES)}.")
    records = []
    for row in found:
        record: dict[str, object] = {
            "Setting": row.setting,
            "Facts": row.facts,
            "Model": row.model,
            "Method": row.method,
        }
        for name in TABLES[table]:
            mean = row.means[name]
            record[f"{TITLES[name]} (%)"] = _percent(mean.value)
            if table == "implications":
                gain = row.gains.get(name, Mean(None, 0))
                record[f"n {TITLES[name]}"] = mean.n
                record[f"gain {TITLES[name]}"] = _percent(gain.value)
                record[f"n gain {TITLES[name]}"] = gain.n
            else:
                record[f"n {TITLES[name]}"] = mean.n
        records.append(record)
    columns = None if records else ["Setting", "Facts", "Model", "Method"]
    return pd.DataFrame(records, columns=columns)


def _percent(value: float | None) -> float:
    # A difference of two equal means may be a last bit below 0, which reads -0.000.
    return float("nan") if value is None else round(100 * value, 9) + 0.0


CAPTIONS: Mapping[str, str] = {
    "specificity": "Shares in percent, means over n knowledge sets (DepEdit, Table 3). Facts:"
    " specific ones a set, stored as the graph has them or shuffled, so that no model knows them."
    " Est: given as established; Upd: given as updated; Cons: said as before the update (NS:"
    " specific facts that were not updated, U: unrelated facts).",
    "implications": "Shares in percent, means over n knowledge sets (DepEdit, Tables 4 and 7)."
    " Est.I: implications drawn once established; Upd.I: those that changed with the facts, after"
    " the update; Cons.NI: those that did not, said as before it. Gain: over the editor that the"
    " method wraps, over the sets that both ran on; in brackets where it has no column.",
}


def text(found: Sequence[MethodRow], tables: Sequence[str], style: str) -> str:
    """The tables in one of `report_formats.FORMATS`, each with its caption where text has one.

    Raises:
        UsageError: there is no such table or format.
    """
    import json

    from thinkeval.service.reports.formats import render

    if style == "json":
        parts = {name: json.loads(render(frame(found, name), style)) for name in tables}
        return json.dumps(parts, ensure_ascii=False, indent=2) + "\n"
    told = []
    for name in tables:
        body, caption = render(frame(found, name), style), CAPTIONS[name]
        if style == "markdown":
            body = f"{body}\n{caption}\n"
        elif style == "latex":
            body = f"% {caption}\n{body}"
        told.append(body)
    return "\n".join(told)


def narrow(found: Sequence[MethodRow], table: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of one of the tables; setting and facts only where the rows differ in it."""
    told = [
        (name, [getattr(row, field) for row in found])
        for name, field in (("Setting", "setting"), ("Facts", "facts"))
    ]
    lead = [(name, values) for name, values in told if len(set(values)) > 1]
    columns = [name for name, _ in lead] + ["Method"]
    columns += [TITLES[metric] for metric in TABLES[table]] + ["sets"]
    rows = [
        [values[i] for _, values in lead]
        + [row.method]
        + [_cell(row, metric) for metric in TABLES[table]]
        + [str(row.runs)]
        for i, row in enumerate(found)
    ]
    return columns, rows


def _cell(row: MethodRow, metric: str) -> str:
    mean = row.means[metric]
    if mean.value is None:
        return "–"
    gain = row.gains.get(metric, Mean(None, 0))
    text = f"{100 * mean.value:.1f}"
    if gain.value is not None:
        # A difference of equal means may be a last bit below 0, which reads -0.0.
        text += f" ({round(100 * gain.value, 1) + 0.0:+.1f})"
    return text if mean.n == row.runs else f"{text} n={mean.n}"
