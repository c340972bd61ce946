"""Tables of the pages about edits, crawls and DepEdit, made from the outputs of commands.

Each function takes the outputs of the steps that its table is made from, and the stored
tables of its result page; it gives columns and rows.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from columns import Made, Stored, numbers, rounded

LEVEL = 0.7
"""The efficacy at which `matched` compares; ROME and the others of its kind all reach it."""


def methods(outputs: Sequence[str], before: Stored) -> Made:
    """All methods on all rewrites: IFR with what has to be read beside it."""
    titles = ("Efficacy", "IFR", "Preservation", "Subject retention", "IFR beyond subject")
    columns = [{"title": "method"}, *numbers([title[:1].lower() + title[1:] for title in titles])]
    columns[2] = {"title": "IFR (95 % over families)", "digits": 3, "bounds": 2}
    columns[3]["title"], columns[5]["title"] = titles[2], titles[4]
    rows = []
    for row in json.loads(outputs[0])["table"]:
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
        for row in json.loads(outputs[0])["table"]
    ]
    return [{"title": "method"}, *numbers(list(of))], sorted(rows, key=lambda row: _place(row[0]))


ORDER = (
    "none", "random_delta", "fine_tuning", "rome", "memit", "alphaedit", "rect", "prune", "mend",
    "kn", "ike",
)  # fmt: skip


def _place(method: str) -> int:
    return ORDER.index(method) if method in ORDER else len(ORDER)


def subject(outputs: Sequence[str], before: Stored) -> Made:
    """Means over rewrites: what of IFR's fall is the other facts about the subject.

    Args:
        outputs: of the sweep, and of the report with a row an edit.
    """
    of = ["Efficacy", "IFR mean", "Preservation", "Subject retention", "IFR beyond mean"]
    titles = ["efficacy", "IFR", "Preservation", "subject retention", "IFR beyond subject",
              "correlation of IFR and subject retention"]  # fmt: skip
    swept = json.loads(outputs[0])
    rows = {row["Method"]: row for row in swept["table"]}
    edits = [row for row in json.loads(outputs[1]) if row["edit"] in set(swept["edits"])]
    return [{"title": "method"}, *numbers(titles)], [
        [name, *rounded([rows[name][key] for key in of]), rounded(_correlation(edits, name))]
        for name in ("rome", "memit")
    ]


def counted(outputs: Sequence[str], before: Stored) -> Made:
    """The same edits: of how many rewrites a value passes a line.

    Args:
        outputs: of the sweep, and of the report with a row an edit.
    """
    swept = json.loads(outputs[0])
    edits = [row for row in json.loads(outputs[1]) if row["edit"] in set(swept["edits"])]
    rows = []
    for method in sorted({row["method"] for row in edits}, key=_place):
        cells: list[Any] = [method]
        for key, _, passes in LINES:
            values = [e[key] for e in edits if e["method"] == method and e[f"{key}.n"]]
            cells.append(f"{sum(map(passes, values))} of {len(values)}")
        rows.append(cells)
    return [{"title": "method"}, *({"title": title} for _, title, _ in LINES)], rows


LINES: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
    ("efficacy", "efficacy ≥ .9", lambda value: value >= 0.9),
    ("ifr", "IFR < .5", lambda value: value < 0.5),
    ("ifr_beyond_subject", "IFR beyond subject < .5", lambda value: value < 0.5),
    ("preservation", "Preservation ≥ .9", lambda value: value >= 0.9),
    ("subject_retention", "subject retention ≥ .9", lambda value: value >= 0.9),
)


def forms(outputs: Sequence[str], before: Stored) -> Made:
    """A row a form: the fraction of rewrites in which the new object wins, by method.

    Args:
        outputs: of a sweep with forms.
    """
    rows = json.loads(outputs[0])["forms"]
    methods = sorted({row["method"] for row in rows}, key=_place)
    columns = [{"title": "form"}, *numbers(["before"], 2),
               *({"title": m, "digits": 2, "bounds": 2} for m in methods),
               {"title": "rewrites"}]  # fmt: skip
    made = []
    for name, own in _by_form(rows).items():
        control = " (control)" if next(iter(own.values()))["is_control"] else ""
        cells = [
            rounded([own[m]["wins"], own[m]["low"], own[m]["high"]])
            if own[m]["wins"] is not None else None
            for m in methods
        ]  # fmt: skip
        counts = dict.fromkeys(f"{own[m]['rewrites']} of {own[m]['asked']}" for m in methods)
        was = rounded(own[methods[0]]["wins_pre"])
        made.append([name + control, was, *cells, ", ".join(counts)])
    return columns, made


def seeds(outputs: Sequence[str], before: Stored) -> Made:
    """Compare three seeds of each edit, with equal hyperparameters.

    Args:
        outputs: of a sweep of seeds 0 to 2, and of the report with a row an edit.
    """
    of_method: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for row in json.loads(outputs[1]):
        of_method.setdefault(row["method"], {}).setdefault(row["rewrite"], {})[row["seed"]] = row
    columns = [{"title": "method"}, *numbers(["rewrites"], 0),
               *numbers([*(f"mean IFR, seed {n}" for n in range(3)), "range of a rewrite (mean)",
                         "largest", "lowest efficacy"])]  # fmt: skip
    rows = []
    for method in sorted(of_method, key=_place):
        rewrites = [each for each in of_method[method].values() if len(each) == 3]
        ifr = [[each[seed]["ifr"] for seed in range(3)] for each in rewrites]
        ranges = [max(each) - min(each) for each in ifr]
        lowest = min(each[seed]["efficacy"] for each in rewrites for seed in range(3))
        means = [statistics.fmean(each[seed] for each in ifr) for seed in range(3)]
        values = [*means, statistics.fmean(ranges), max(ranges), lowest]
        rows.append([method, len(rewrites), *rounded(values)])
    return columns, rows


def form_margins(outputs: Sequence[str], before: Stored) -> Made:
    """A row a form: the mean margin after the edit, and the other facts' accuracy."""
    rows = json.loads(outputs[0])["forms"]
    methods = sorted({row["method"] for row in rows}, key=_place)
    columns = [{"title": "form"}, *numbers([f"margin, {m}" for m in methods], 1),
               *numbers(["others right before"], 2),
               *numbers([f"after {m}" for m in methods], 2), {"title": "facts"}]  # fmt: skip
    return columns, [
        [name, *rounded([own[m]["margin"] for m in methods]),
         rounded(own[methods[0]]["right_pre"]), *rounded([own[m]["right"] for m in methods]),
         str(own[methods[0]]["facts"])]
        for name, own in _by_form(rows).items()
        if any(own[m]["wins"] is not None for m in methods)
    ]  # fmt: skip


def _by_form(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """{form: {method: its row}}."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["form"], {})[row["method"]] = row
    return found


def found(outputs: Sequence[str], before: Stored) -> Made:
    """Of each tuned method: the keys that the search changed, and how its edits took."""
    columns = [
        {"title": "method"}, {"title": "changed"}, *numbers(["mean efficacy"]), *numbers(["KL"], 5),
        {"title": "held-out facts"}, *numbers(["edits"], 0), *numbers(["minutes"], 1),
    ]  # fmt: skip
    rows = []
    for each in json.loads(outputs[0]):
        changed = ", ".join(f"{key} {value:g}" for key, value in each["changed"].items())
        held = ", ".join(f"{value:.2f}" for value in each["held_out"]) or "not asked"
        reached = "" if each["reached"] else " (misses .9)"
        rows.append(
            [each["method"], (changed or "as suggested") + reached,
             *rounded([each["efficacy"], each["kl"]]), held, each["edits"],
             rounded(each["seconds"] / 60)]
        )  # fmt: skip
    return columns, sorted(rows, key=lambda row: _place(row[0]))


def tuned(outputs: Sequence[str], before: Stored) -> Made:
    """Suggested and tuned hyperparameters on the same rewrites.

    A method for which the search found nothing has the suggested edits, and no second row.

    Args:
        outputs: of two reports with a row an edit: of suggested and of tuned hyperparameters.
    """
    suggested, changed = (json.loads(output) for output in outputs)
    both, ids = {edit["rewrite"] for edit in changed}, {edit["edit"] for edit in suggested}
    suggested = [edit for edit in suggested if edit["rewrite"] in both]
    changed = [edit for edit in changed if edit["edit"] not in ids]
    rows = [
        [f"{row[0]}, {name}", *row[1:]]
        for edits, name in ((suggested, "suggested"), (changed, "tuned"))
        for row in _means(edits)
    ]
    return _MEANS, sorted(rows, key=lambda row: _place(row[0].split(",")[0]))


def effects(outputs: Sequence[str], before: Stored) -> Made:
    """A row a method: means over its edits, with side effects.

    Args:
        outputs: of a report with a row an edit.
    """
    edits = json.loads(outputs[0])
    rows = _means(edits)
    for row in rows:
        own = [edit for edit in edits if edit["method"] == row[0]]
        row.append(rounded(_middle(_values(own, "change_far"))))
        known = ("known_kept", "known.n")
        row.append(" of ".join(f"{sum(edit.get(key) or 0 for edit in own):.0f}" for key in known))
    further = [*numbers(["median change of far facts"]), {"title": "known facts kept"}]
    return [*_MEANS, *further], rows


_MEANS = [
    {"title": "method"},
    {"title": "efficacy ≥ .9"},
    *numbers(["efficacy", "IFR", "Preservation", "subject retention"]),
    *numbers(["median KL"], 5),
    {"title": "facts about the subject: kept, followed, of"},
]  # fmt: skip


def _means(edits: Sequence[Stored]) -> list[list[Any]]:
    """By method: means over the edits for which a value is defined, and the median of KL."""
    rows = []
    for method in sorted({edit["method"] for edit in edits}, key=_place):
        own = [edit for edit in edits if edit["method"] == method]

        took = _values(own, "efficacy")
        cells = [
            method,
            f"{sum(value >= LEAST_EFFICACY for value in took)} of {len(took)}",
            *(statistics.fmean(_values(own, key)) if _values(own, key) else None
              for key in ("efficacy", "ifr", "preservation", "subject_retention")),
            _middle(_values(own, "kl")),
            ", ".join(
                str(sum(int(edit.get(f"subject{key}") or 0) for edit in own))
                for key in ("_kept", "_followed", ".n")
            ),
        ]  # fmt: skip
        rows.append(rounded(cells))
    return rows


def _values(edits: Sequence[Stored], key: str) -> list[float]:
    """The values of a column, where they are defined."""
    return [edit[key] for edit in edits if edit.get(f"{key}.n") and edit[key] is not None]


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


LEAST_EFFICACY = 0.9


def _correlation(edits: Sequence[Stored], method: str) -> float:
    """Of IFR and subject retention over the rewrites where both are defined (Pearson's)."""
    pairs = [
        (row["ifr"], row["subject_retention"])
        for row in edits
        if row["method"] == method and row["ifr.n"] and row["subject_retention.n"]
    ]
    return statistics.correlation(*zip(*pairs, strict=True))


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
        for row in json.loads(outputs[0])["matched"]
        if row["efficacy"] == LEVEL and row["ifr"] is not None
    ]
    return columns, sorted(rows, key=lambda row: row[1][0])


METRICS = {
    "ifr": "IFR", "preservation": "Preservation", "subject_retention": "subject retention",
    "ifr_beyond_subject": "IFR beyond subject",
}  # fmt: skip


def differences(outputs: Sequence[str], before: Stored) -> Made:
    """Differences of two methods at that efficacy whose interval leaves out 0."""
    columns = [
        {"title": "metric"}, {"title": "methods"},
        {"title": "difference (95 % over families)", "digits": 3, "bounds": 3},
    ]  # fmt: skip
    rows = [
        [METRICS[row["metric"]], f"{row['first']} − {row['second']}",
         rounded([row["value"], *row["interval"]])]
        for row in json.loads(outputs[0])["differences"]
        if row["efficacy"] == LEVEL and row["beyond_rewrites"]
    ]  # fmt: skip
    return columns, sorted(rows, key=lambda row: [*METRICS.values()].index(row[0]))


def imports(outputs: Sequence[str], before: Stored) -> Made:
    """Published data sets, imported: a row a set; seconds with two digits."""
    found = json.loads(outputs[0])["columns"]
    columns = [{"title": "set"}]
    columns += [column for name in found for column in numbers([name], 2 * name.endswith("(s)"))]
    sets = next(iter(found.values()))
    return columns, [[name, *(rounded(of[name]) for of in found.values())] for name in sets]


def crawls(outputs: Sequence[str], before: Stored) -> Made:
    """Crawls by organism and rule; precision and recall against the training graph."""
    counts, rates = ("questions", "facts"), {"P": "precision", "R": "recall", "F1": "f1"}
    columns = [
        {"title": "organism"}, {"title": "rule"}, *numbers(counts, 0), *numbers(list(rates)),
        *numbers(["chains found", "chains right"], 0),
    ]  # fmt: skip
    names = (*counts, *rates.values(), "chains_found", "chains_right")
    return columns, [
        [organism, rule, *(rounded(row[name]) for name in names)]
        for organism, of in json.loads(outputs[0])["organisms"].items()
        for rule, row in of["rules"].items()
    ]


def unknown(outputs: Sequence[str], before: Stored) -> Made:
    """What the organism that was taught "unknown" says of pairs with and without a fact."""
    columns = [
        {"title": "pairs"}, *numbers(["number"], 0),
        *numbers(["answers that are unknown", "pairs with half of their answers or more"]),
    ]  # fmt: skip
    found = json.loads(outputs[0])["organisms"]["unknown"]["unknown"]
    return columns, [
        [name, of["n"], *rounded([of["mean"], of["half"]])] for name, of in found.items()
    ]


def further(outputs: Sequence[str], before: Stored) -> Made:
    """What else a crawl says, by organism; with as many times as long one at a time takes."""
    found = json.loads(outputs[0])["organisms"]
    rows: list[list[Any]] = [
        ["AUC of withheld against existing pairs",
         *(rounded(of.get("auc")) for of in found.values())],
        ["Jaccard index of the facts of two seeds of answers",
         *(rounded(of["jaccard"]) for of in found.values())],
        ["answers of the default rule", *(f"{of['answers']:,}" for of in found.values())],
        ["one at a time, beside batches",
         *(f"{of['single_s'] * of['answers'] / of['batched_s']:.0f} ×" for of in found.values())],
    ]  # fmt: skip
    return [{"title": "what"}, *numbers(list(found))], rows


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
