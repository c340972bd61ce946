"""Tables of runs in the layout of the paper: means over sets, each with its n.

`specificity` has the columns of Table 3, `implications` those of Tables 4 and 7: each mean has
its gain over the editor that the strategy wraps. In a terminal both share a cell: `98.8 (+90.3)`
is a fraction in percent and its gain. The last column is the number of sets; a cell with fewer sets
has its own n.
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
    """The rows of the tables, by setting and model; methods in the order of their first runs.

    Of several runs of one method on one set only the newest counts.

    Raises:
        NothingStoredError: no such run.
    """
    from thinkeval.service.depedit.store import list_runs

    found = list_runs(db, sets=sets, dataset=dataset, setting=setting, model=model)
    if not found:
        raise NothingStoredError(
            "No run of the protocol is stored.",
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
    """One of TABLES, fractions in percent; beside each column its n, the number of sets.

    Raises:
        UsageError: no such table.
    """
    import pandas as pd

    if table not in TABLES:
        raise UsageError(f"{table!r} is not a table.", remedy=f"Use one of {', '.join(TABLES)}.")
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
    # A difference of equal means may be slightly below 0 by rounding, which prints -0.000.
    return float("nan") if value is None else round(100 * value, 9) + 0.0


CAPTIONS: Mapping[str, str] = {
    "specificity": "Percent, means over n knowledge sets (DepEdit, Table 3). Facts: number of"
    " specific facts a set, stored as in the graph or shuffled, so that no model knows them."
    " Est: answered as established; Upd: answered as updated; Cons: answered as before the update"
    " (NS: specific facts without an update, U: unrelated facts).",
    "implications": "Percent, means over n knowledge sets (DepEdit, Tables 4 and 7). Est.I:"
    " implications of the established facts; Upd.I: implications changed by the update, after it;"
    " Cons.NI: unchanged implications, answered as before the update. Gain: difference to the"
    " editor that the method wraps, over the sets of both; in brackets without a column.",
}


def text(found: Sequence[MethodRow], tables: Sequence[str], style: str) -> str:
    """The tables in one of `reports.formats.FORMATS`, with captions in text formats.

    Raises:
        UsageError: no such table or format.
    """
    import json

    from thinkeval.service.reports.formats import render

    if style == "json":
        parts = {name: json.loads(render(frame(found, name), style)) for name in tables}
        return json.dumps(parts, ensure_ascii=False, indent=2) + "\n"
    texts = []
    for name in tables:
        body, caption = render(frame(found, name), style), CAPTIONS[name]
        if style == "markdown":
            body = f"{body}\n{caption}\n"
        elif style == "latex":
            body = f"% {caption}\n{body}"
        texts.append(body)
    return "\n".join(texts)


def narrow(found: Sequence[MethodRow], table: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of one of the tables; setting and facts only if the rows differ in them."""
    varying = [
        (name, [getattr(row, field) for row in found])
        for name, field in (("Setting", "setting"), ("Facts", "facts"))
    ]
    lead = [(name, values) for name, values in varying if len(set(values)) > 1]
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
        # A difference of equal means may be slightly below 0 by rounding, which prints -0.0.
        text += f" ({round(100 * gain.value, 1) + 0.0:+.1f})"
    return text if mean.n == row.runs else f"{text} n={mean.n}"
