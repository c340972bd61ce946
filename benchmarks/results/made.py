"""Tables of the result pages, made from the outputs of commands.

Each function takes the outputs of a page's steps and its stored tables, and gives columns
and rows. A column has a title and, where its cells are numbers, their digits; a cell is a text, a
number, [number, low, high] of a 95 % interval, or None where it is undefined.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Made = tuple[list[dict[str, Any]], list[list[Any]]]
Stored = Mapping[str, Any]

LEVEL = 0.7
"""The efficacy at which `matched` compares; ROME and the others of its kind all reach it."""


def numbers(titles: Sequence[str], digits: int = 3) -> list[dict[str, Any]]:
    """Columns of numbers."""
    return [{"title": title, "digits": digits} for title in titles]


def rounded(value: Any, digits: int = 6) -> Any:
    """A number as it is stored; undefined (None, NaN) is None.

    With more digits than a page shows, as what is rounded twice may be off by one.
    """
    if isinstance(value, list | tuple):
        return [rounded(each, digits) for each in value]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str) else round(value, digits)


def methods(outputs: Sequence[str], before: Stored) -> Made:
    """All methods on all rewrites: IFR with what has to be read beside it."""
    titles = ("Efficacy", "IFR", "Preservation", "Subject retention", "IFR beyond subject")
    columns = [{"title": "method"}, *numbers([title[:1].lower() + title[1:] for title in titles])]
    columns[2] = {"title": "IFR (95 % over families)", "digits": 3, "bounds": 2}
    columns[3]["title"], columns[5]["title"] = titles[2], titles[4]
    rows = []
    for row in json.loads(outputs[-1])["table"]:
        values = [row[title] for title in titles]
        values[1] = [row["IFR"], row["IFR low"], row["IFR high"]]
        rows.append([row["Method"], *rounded(values)])
    return columns, sorted(rows, key=lambda row: _place(row[0]))


def steps(outputs: Sequence[str], before: Stored) -> Made:
    """The same edits: IFR by the length of chains, its mean over rewrites, and generalization."""
    of = {f"{n}-step IFR": f"{n}-step" for n in range(1, 6)}
    of |= {"mean IFR": "IFR mean", "generalization": "Generalization"}
    rows = [
        [row["Method"], *rounded([row[name] for name in of.values()])]
        for row in json.loads(outputs[-1])["table"]
    ]
    return [{"title": "method"}, *numbers(list(of))], sorted(rows, key=lambda row: _place(row[0]))


ORDER = (
    "none", "random_delta", "fine_tuning", "rome", "memit", "alphaedit", "rect", "prune", "mend",
    "kn", "ike",
)  # fmt: skip


def _place(method: str) -> int:
    return ORDER.index(method) if method in ORDER else len(ORDER)


def subject(outputs: Sequence[str], before: Stored) -> Made:
    """Means over rewrites: what of IFR's fall is the forgotten subject."""
    of = ["Efficacy", "IFR mean", "Preservation", "Subject retention", "IFR beyond mean"]
    titles = ["efficacy", "IFR", "Preservation", "subject retention", "IFR beyond subject"]
    rows = {row["Method"]: row for row in json.loads(outputs[-1])["table"]}
    return [{"title": "method"}, *numbers(titles)], [
        [name, *rounded([rows[name][key] for key in of])] for name in ("rome", "memit")
    ]


def matched(outputs: Sequence[str], before: Stored) -> Made:
    """Methods at one efficacy; those that never have it are left out."""
    columns = [
        {"title": "method"},
        {"title": f"IFR at efficacy {LEVEL:.1f} (95 % over families)", "digits": 3, "bounds": 2},
        *numbers(["Preservation", "subject retention", "IFR beyond subject"]),
        {"title": "rewrites", "digits": 0},
    ]
    rows = [
        [
            row["method"],
            rounded([row["ifr"], *(row["ifr_interval"] or (None, None))]),
            *rounded([row["preservation"], row["subject_retention"], row["ifr_beyond_subject"]]),
            row["n"],
        ]
        for row in json.loads(outputs[-1])["matched"]
        if row["efficacy"] == LEVEL and row["ifr"] is not None
    ]
    return columns, sorted(rows, key=lambda row: row[1][0])


def rounds(outputs: Sequence[str], before: Stored) -> Made:
    """Medians over rewrites after m further facts, beside as many random ones."""
    of = {
        "IFR": "ifr", "of the edit alone": "ratio", "efficacy": "efficacy",
        "efficacy of the co-edits": "coedit_efficacy", "Preservation": "preservation",
        "of facts not edited": "preservation_unedited",
        "other facts of co-edited subjects": "coedited_retention",
        "IFR with m random facts": "random_ifr",
    }  # fmt: skip
    columns = [{"title": "method"}, {"title": "m", "digits": 0}, *numbers(list(of))]
    columns += [
        {"title": "rewrites without a leaking chain", "digits": 0},
        {"title": "lower than random (sign test)"},
    ]
    rows = []
    for text in outputs:
        for row in json.loads(text)["rows"]:
            lower = f"{row['lower']} of {row['lower'] + row['higher']}"
            lower += "" if row["p"] is None else f" (p = {row['p']:.3f})"
            values = rounded([row[name] for name in of.values()])
            rows.append(
                [row["method"], row["m"], *values, row["clean"], lower if row["m"] else None]
            )
    return columns, rows


def chosen(outputs: Sequence[str], before: Stored) -> Made:
    """What the chosen rounds reach over all rewrites."""
    columns = [
        {"title": "method"},
        {"title": "IFR lower by (median, %)", "digits": 0},
        *numbers(["rewrites", "further facts were chosen", "nothing leaked after the edit alone",
                  "edit alone chosen although it leaks", "facts until nothing leaks (median)",
                  "rewrites where that was reached"], 0),
    ]  # fmt: skip
    rows = []
    for text in outputs:
        for row in json.loads(text)["chosen"]:
            reduction = None if row["reduction"] is None else rounded(100 * row["reduction"])
            counts = [row["n"], row["kept"], row["alone"], len(row["missed"])]
            rows.append([row["method"], reduction, *counts, row["facts_to_clean"], row["n_clean"]])
    return columns, rows


APPENDED = {
    "ES": "es", "GS": "gs", "LS": "ls", "AFF hard": "aff_hard", "ANF hard": "anf_hard",
    "AFF random": "aff_random", "ANF random": "anf_random",
}  # fmt: skip


def appended(outputs: Sequence[str], before: Stored) -> Made:
    """PEAK's table in percent, with bootstrap intervals over requests."""
    columns = [{"title": "method"}, *({"title": t, "digits": 1, "bounds": 1} for t in APPENDED)]
    rows = []
    for row in json.loads(outputs[2])["rows"]:
        name = row["method"] + {"bare": "", "+": "+"}.get(row["variant"], f" {row['variant']}")
        cells: list[Any] = [name.replace(" app", " APP")]
        for short in APPENDED.values():
            mean = _append_mean(row["means"], short)
            ends = [100 * mean[end] if mean[end] is not None else None for end in ("low", "high")]
            value = None if mean["value"] is None else 100 * mean["value"]
            cells.append(rounded([value, *ends] if ends[0] != ends[1] else value))
        rows.append(cells)
    return columns, rows


def _append_mean(means: Stored, short: str) -> Mapping[str, Any]:
    """A mean of PEAK's table by its name, with or without the prefix of stored metrics."""
    return means.get(short) or means[f"append_{short}"]


def paired(outputs: Sequence[str], before: Stored) -> Made:
    """Each variant minus its bare method, as the command prints it."""
    found = json.loads(outputs[3])
    columns = [{"title": key} | ({"digits": 3} if _numeric(found, key) else {}) for key in found[0]]
    return columns, [[rounded(row[key]) for key in row] for row in found]


def _numeric(found: Sequence[Stored], key: str) -> bool:
    return all(row[key] is None or isinstance(row[key], int | float) for row in found)


CRAWL = re.compile(
    r"^  (?P<rule>\S.*?)\s+(?P<questions>\d+) questions\s+(?P<facts>\d+) facts\s+P (?P<p>[\d.]+)"
    r" R (?P<r>[\d.]+) F1 (?P<f1>[\d.]+)  chains \d+/(?P<found>\d+)/(?P<right>\d+)",
    re.M,
)


def crawls(outputs: Sequence[str], before: Stored) -> Made:
    """Crawls by organism and rule; precision and recall against the training graph."""
    columns = [
        {"title": "organism"}, {"title": "rule"}, *numbers(["questions", "facts"], 0),
        *numbers(["P", "R", "F1"]), *numbers(["chains found", "chains right"], 0),
    ]  # fmt: skip
    rows: list[list[Any]] = []
    parts = re.split(r"^.*: trained in .*$", outputs[-1], flags=re.M)[1:]
    for organism, part in zip(("plain", "unknown"), parts, strict=True):
        for found in CRAWL.finditer(part):
            counts = [int(found[name]) for name in ("questions", "facts")]
            rates = [float(found[name]) for name in ("p", "r", "f1")]
            chains = [int(found[name]) for name in ("found", "right")]
            rows.append([organism, found["rule"], *counts, *rates, *chains])
    return columns, rows


PROTOCOL = ("Est.S", "Upd.S", "Cons.NS", "Cons.U", "Est.I", "Upd.I", "Cons.NI")


def protocol(outputs: Sequence[str], before: Stored) -> Made:
    """DepEdit's two tables in one, in percent, means over the sets."""
    found = json.loads(outputs[-1])
    facts = {row["Method"]: row for row in found["specificity"]}
    rows = []
    for row in found["implications"]:
        both = facts[row["Method"]] | row
        rows.append([row["Method"], *(rounded(both[f"{title} (%)"]) for title in PROTOCOL)])
    return [{"title": "method"}, *numbers(PROTOCOL, 1)], rows


BENCHMARKS: dict[str, dict[str, str]] = {
    "python benchmarks/chains_vs_networkx.py --json": {
        "chains of ≤ 5 facts, 100,000-fact graph, median pair": "median pair",
        "chains of KnowGIC's 26 rewrites (1,406, same ones), one query": "counted in one query",
    },
    "python benchmarks/ifr_one_query.py --json": {
        "IFR of 26 rewrites, one query, warm": "pull the facts"
    },
    "python benchmarks/z_batch.py --json": {
        "target vectors (z) of 32 requests, 38 updates each": "(?i)^memit's target"
    },
    "python benchmarks/sweep_shared_targets.py --graph knowgic --json": {
        "MEMIT, RECT, PRUNE, AlphaEdit on 26 rewrites, targets shared": "methods x 26 rewrites"
    },
    "python benchmarks/solves.py --json": {
        "a further MEMIT batch at d_in = 4096, C factored before": "(?i)memit further.*4096",
        "a further AlphaEdit batch at d_in = 2048, projector made before": (
            "(?i)alphaedit further.*2048"
        ),
    },
    "python benchmarks/write_back.py --json": {
        "creating a graph of 100,000 facts": "^create a graph",
        "writing two new probabilities into each of 100,000 facts": "^write probabilities",
    },
    "python benchmarks/chains_joined.py --json": {
        "IFR of a pair among 100,000 facts with hubs, one query a pair: median": "median",
        "the same: p95": "p95",
    },
    "python benchmarks/rules_mining.py --json": {
        "rules with support ≥ 3 of 106,400 facts, 200 relations": "rules of",
        "the same with the premises of each counted": "premises counted",
    },
}
"""What one command measures again: {command: {row of the table: pattern of `what; name`}}."""


def ratios(outputs: Sequence[str], before: Stored) -> Made:
    """The stored rows, those measured again replaced; each row has its own day and command."""
    table = before["ratios"]
    rows = {row[0]: row for row in table["rows"]}
    day = datetime.now(UTC).date().isoformat()
    for (command, patterns), text in zip(BENCHMARKS.items(), outputs, strict=True):
        lines = json.loads(text)["lines"]
        for what, pattern in patterns.items():
            line = next(
                line for line in lines if re.search(pattern, f"{line['what']}; {line['name']}")
            )
            rows[what] = [what, *_line(line), day, f"`{command.removesuffix(' --json')}`"]
    return table["columns"], list(rows.values())


def _line(line: Mapping[str, Any]) -> list[str | None]:
    """Ours, instead and ratio of a benchmark's line, in words."""
    ours = f"{_short(line['ours'])} {line['unit']}"
    if line["instead"] is None:
        return [ours, None, None]
    instead = f"{_short(line['instead'])} {line['unit']}, {line['name']}"
    return [ours, instead, f"{_short(line['ratio'])} ×"]


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"
