"""Mean probabilities of an edit's answers, against means of the lists that were written."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

import pytest

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

LISTS = [f"{kind}_{side}" for kind in ("correct", "hard", "random") for side in ("pre", "post")]


def prompt(
    place: int, role: str, rng: random.Random, sizes: tuple[int, int, int]
) -> dict[str, Any]:
    out: dict[str, Any] = {
        "place": place, "role": role, "text": "p", "new_pre": 0.1, "new_post": 0.2
    }  # fmt: skip
    for kind, n in zip(("correct", "hard", "random"), sizes, strict=True):
        out[kind] = [f"{kind} {i}" for i in range(n)]
        for side in ("pre", "post"):
            out[f"{kind}_{side}"] = [rng.random() for _ in range(n)]
    return out


def test_means_are_over_the_lists_of_the_edit_prompt(db: Database, graph_id: str) -> None:
    rng = random.Random(3)
    asked = dict.fromkeys(("rewrite", "subject", "relation", "target_true", "target_new"), "x")
    about = {"model": "m", "method": "rome", "dataset": graph_id, "rewrite": "x"}
    written: dict[str, dict[str, Any]] = {}
    with db.transaction() as tx:
        tx.run(
            rows.WrittenRow,
            "graph/merge_rewrites",
            dataset=graph_id,
            rows=[asked | {"prompt": "{} r"}],
        )
        for i, sizes in enumerate([(4, 3, 2), (1, 1, 0), (7, 0, 5)]):
            edit = f"{graph_id}-{i}"
            prompts = [prompt(0, "prompt", rng, sizes), prompt(1, "paraphrase", rng, (2, 2, 2))]
            tx.run(rows.MergeEditRow, "edits/merge_edit", id=edit, status="running", **about)
            tx.run(rows.WrittenRow, "append/write_answers", edit=edit, rows=prompts)
            written[edit] = prompts[0]
    found = {
        row.edit: row
        for row in db.read(
            rows.MeanProbabilitiesRow,
            "append/mean_probabilities",
            edits=[*written, f"{graph_id}-none"],
        )
    }
    assert found.keys() == written.keys()
    for edit, lists in written.items():
        for name in LISTS:
            expected = mean(lists[name]) if lists[name] else None
            assert getattr(found[edit], name) == pytest.approx(expected, abs=1e-15), (edit, name)
