"""Tables of docs/results/co-edit.md."""

from __future__ import annotations

import json
from collections.abc import Sequence

from columns import Made, Stored, numbers, rounded


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


CHOICES = {
    "IFR": "ifr", "efficacy, first": "efficacy", "efficacy, co-edits": "coedit_efficacy",
    "Preservation": "preservation", "not edited": "preservation_unedited",
    "subject": "subject_retention", "co-edited subjects": "coedited_retention",
}  # fmt: skip


def choices(outputs: Sequence[str], before: Stored) -> Made:
    """One round of six rewrites, by what is edited too."""
    rows = []
    for row in json.loads(outputs[0])["rows"]:
        name = row["choice"] + (f", {row['facts']}" if row["facts"] else "")
        name += f" (mean of {row['n']})" if row["n"] > 1 else ""
        rows.append([row["subject"], name, *rounded([row[key] for key in CHOICES.values()])])
    return [{"title": "rewrite"}, {"title": "edited too"}, *numbers(list(CHOICES), 2)], rows
