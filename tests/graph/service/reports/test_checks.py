"""Questions of data sets over several edits: Cypher against brute force, and against papers."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from support.stored_edits import probed, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.records import Check, RewriteRequest
from thinkeval.service.models.edit import Score
from thinkeval.service.reports import checks as reports
from thinkeval.service.reports.by_kind import forgetting_table
from thinkeval.service.scoring import checks
from thinkeval.service.scoring.checks import Replies

VERDICTS = (True, False, None)
Answer = dict[str, Any]
Stored = dict[str, list[Answer]]
"""The rows of each edit."""


def row(place: int, criterion: str, prompt: str, item: str, **values: Any) -> Answer:
    verdicts = dict.fromkeys(f"{v}_{s}" for v in ("right", "old") for s in ("pre", "post"))
    return {
        "criterion": criterion, "item": item, "every": False, "place": place, "prompt": prompt,
        "answers": ["a"], "met": True, "text_pre": "", "text_post": "",
        "stated_pre": None, "stated_post": None, "ratio_pre": None, "ratio_post": None,
    } | verdicts | values  # fmt: skip


class Edits:
    """Stores edits of one graph, each with its answers to checks."""

    def __init__(self, db: Database, graph: str) -> None:
        self.db, self.graph, self.scores, self.answers = db, graph, list[Score](), Stored()

    def add(self, asked: Sequence[Answer], method: str = "rome", question: str = "q?") -> Score:
        n = len(self.scores)
        facts = [
            probed((f"s{n}", "r", "o"), 0.9, 0.1, "target_true"),
            probed((f"s{n}", "r", "n"), 0.1, 0.9, "target_new", listed=False),
        ]
        request = RewriteRequest(
            f"r{n}", self.graph, "{} is in", f"s{n}", "r", "o", "n", question=question
        )
        edit = f"{self.graph}-{n}"
        score = store_edit(self.db, edit, facts, dataset=self.graph, method=method, rewrite=request)
        self.db.write(rows.WrittenRow, "checks/write", owner=edit, rows=asked)
        self.answers[edit] = list(asked)
        self.scores.append(score.model_copy(update={"checks": checks.measured(self.db, edit)}))
        return self.scores[-1]

    def found(self, method: str = "rome") -> dict[str, Any]:
        found = reports.by_method(self.db, self.scores)
        return {each.criterion: each for each in found if each.method == method}


@pytest.fixture
def edits(db: Database, graph_id: str) -> Edits:
    return Edits(db, graph_id)


def of_item(asked: Sequence[Answer], name: str) -> float | None:
    wanted = not asked[0]["every"]
    verdicts = [each[name] for each in asked]
    if wanted in verdicts:
        return float(wanted)
    return None if None in verdicts else float(not wanted)


def mean(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


def brute(answers: Mapping[str, Sequence[Answer]]) -> dict[str, dict[str, Any]]:
    """The pooled values by criterion, without Cypher: means of units, of edits, of items."""
    units: dict[tuple[str, ...], list[Sequence[Answer]]] = defaultdict(list)
    for asked in answers.values():
        units[tuple(each["prompt"] for each in asked)].append(asked)
    of: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for several in units.values():
        for criterion in {each["criterion"] for asked in several for each in asked}:
            per_edit: dict[str, list[Any]] = defaultdict(list)
            for asked in several:
                items: dict[str, list[Answer]] = defaultdict(list)
                for each in asked:
                    if each["criterion"] == criterion:
                        items[each["item"]].append(each)
                kept = [qs for qs in items.values() if all(q["met"] is True for q in qs)]
                per_edit["items"].append(len(kept))
                per_edit["left_out"].append(len(items) - len(kept))
                for name in ("right_pre", "right_post", "old_pre", "old_post"):
                    per_edit[name].append(mean([of_item(qs, name) for qs in kept]))
                for name in ("stated_pre", "stated_post"):
                    per_edit[name].append(mean([q[name] for qs in kept for q in qs]))
            for name, values in per_edit.items():
                many = name in ("items", "left_out")
                of[criterion][name].append(max(values) if many else mean(values))
    return {
        criterion: {
            "units": sum(n > 0 for n in values["items"]),
            "items": sum(values["items"]),
            "left_out": sum(values["left_out"]),
            "right_pre": mean(values["right_pre"]),
            "right": mean(values["right_post"]),
            "n": sum(v is not None for v in values["right_post"]),
            "old_pre": mean(values["old_pre"]),
            "old": mean(values["old_post"]),
            "n_old": sum(v is not None for v in values["old_post"]),
            "stated_pre": mean(values["stated_pre"]),
            "stated": mean(values["stated_post"]),
            "n_stated": sum(v is not None for v in values["stated_post"]),
        }
        for criterion, values in of.items()
    }


def drawn(draw: random.Random, prefix: str) -> list[Answer]:
    """Questions of three criteria, one with groups; six of them on average."""
    out = []
    for place in range(draw.randint(1, 9)):
        criterion = draw.choice(("Compositionality_I", "portability/Reasoning", "forget_level2"))
        grouped = criterion.startswith("Comp")
        item = f"case {draw.randint(1, 2)}" if grouped else f"question {place}"
        values: dict[str, Any] = {
            f"{v}_{s}": draw.choice(VERDICTS) for v in ("right", "old") for s in ("pre", "post")
        }
        values |= {f"stated_{s}": draw.choice((None, draw.random())) for s in ("pre", "post")}
        values |= {"met": draw.choices(VERDICTS, (6, 1, 1))[0], "every": grouped}
        out.append(row(place, criterion, f"{prefix}{place}?", item, **values))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_pooled_checks_equal_brute_force(edits: Edits, seed: int) -> None:
    draw = random.Random(seed)
    by: dict[str, Stored] = {"rome": {}, "memit": {}}
    for i in range(8):
        method = draw.choice(("rome", "memit"))
        asked = drawn(draw, f"{i} ")
        for again in range(draw.choice((1, 1, 3))):  # edits of one case have the same questions
            if again:
                asked = [each | {"right_post": draw.choice(VERDICTS)} for each in asked]
            by[method][edits.add(asked, method).edit] = asked
    for method, answers in by.items():
        found = edits.found(method)
        wanted = brute(answers)
        assert found.keys() == wanted.keys()
        for criterion, values in wanted.items():
            for name, value in values.items():
                got = getattr(found[criterion], name)
                assert got == (pytest.approx(value) if value is not None else None), name


def test_an_undefined_criterion_has_its_reason(edits: Edits) -> None:
    unmet = row(0, "Forgetfulness", "a?", "1", met=False, right_post=True)
    edits.add([unmet, row(1, "Subject_Aliasing", "b?", "2")])
    found = edits.found()
    assert (found["Forgetfulness"].right, found["Forgetfulness"].units) == (None, 0)
    assert found["Forgetfulness"].reason == reports.LEFT_OUT
    assert found["Forgetfulness"].left_out == 1
    assert (found["Subject_Aliasing"].right, found["Subject_Aliasing"].n) == (None, 0)
    assert found["Subject_Aliasing"].reason == reports.UNDECIDED
    (table,) = reports.tables_over_edits(edits.db, edits.scores)
    assert "Forgetfulness: the unedited model met the conditions of no item" in table.note


def test_mquake_accuracies_are_over_cases_and_over_edits(edits: Edits) -> None:
    def case(number: int, multi: Sequence[bool], hops: Sequence[bool]) -> list[Answer]:
        asked = [
            row(i, "multi_hop", f"case {number} wording {i}?", f"case-{number}", right_post=right)
            for i, right in enumerate(multi)
        ]
        return asked + [
            row(3 + i, "single_hop", f"case {number} hop {i}?", f"case-{number}", every=True,
                right_post=right)
            for i, right in enumerate(hops)
        ]  # fmt: skip

    cases = {
        1: ((False, False, True), (True, True, True)),
        2: ((False, False, False), (True, False, True)),
        3: ((True, True, True), (True, True, False)),
    }
    for number, (multi, hops) in cases.items():
        # The first two hops of a case are edited, jointly: each edit has the case's answers.
        for hop in range(2):
            edits.add(case(number, multi, hops), question=f"case {number} hop {hop}?")
    found = edits.found()
    assert (found["multi_hop"].right, found["multi_hop"].n) == (pytest.approx(2 / 3), 3)
    assert (found["single_hop"].right, found["single_hop"].n) == (pytest.approx(1 / 3), 3)
    assert (found["edit_wise"].right, found["edit_wise"].n) == (pytest.approx(5 / 6), 6)
    (table,) = reports.tables_over_edits(edits.db, edits.scores)
    titles = [table.columns[0].get(each) for each in table.rows]
    assert titles == [
        "multi_hop (multi-hop accuracy)",
        "single_hop (instance-wise accuracy)",
        "edit_wise (edit-wise success)",
    ]


def test_the_interval_is_over_families_and_one_family_has_none(edits: Edits) -> None:
    def one(right: bool) -> list[Answer]:
        n = len(edits.scores)
        return [row(0, "multi_hop", f"{n}?", "1", right_post=right)]

    for right in (True, False, True, True):
        edits.add(one(right))
    wide = edits.found()["multi_hop"]
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < 0.75 < wide.high
    family = {score.edit: "one" for score in edits.scores}
    (alone,) = reports.by_method(edits.db, edits.scores, family)
    assert (alone.right, alone.low, alone.families) == (0.75, None, 1)


def test_forget_quality_is_the_test_of_truth_ratios_against_the_base(edits: Edits) -> None:
    draw = random.Random(1)
    pairs = [(draw.random(), draw.random() + 0.3) for _ in range(30)]
    for i, (pre, post) in enumerate(pairs):
        rated = row(0, "truth_ratio", f"{i}?", "1", ratio_pre=pre, ratio_post=post)
        edits.add([rated], "compare:unlearned")
    edits.add([row(0, "truth_ratio", "none?", "1", ratio_pre=0.2)], "compare:unlearned")
    (found,) = reports.forget_quality(edits.db, edits.scores)
    before, after = zip(*pairs, strict=True)

    def below(values: Sequence[float]) -> Callable[[float], float]:
        return lambda at: sum(value <= at for value in values) / len(values)

    gaps = [abs(below(before)(at) - below(after)(at)) for at in (*before, *after)]
    assert found.distance == pytest.approx(max(gaps))
    from scipy.stats import ks_2samp

    assert found.forget_quality == pytest.approx(ks_2samp(before, after).pvalue)
    assert (found.asked, found.n, found.reason) == (31, 30, None)
    assert (found.ratio_pre, found.ratio) == (
        pytest.approx(fmean(before)),
        pytest.approx(fmean(after)),
    )
    assert found.model_utility is None
    edits.add([row(0, "truth_ratio", "0?", "1", ratio_pre=0.1, ratio_post=0.2)], "npo")
    _, npo = reports.forget_quality(edits.db, edits.scores)
    assert (npo.forget_quality, npo.distance) == (None, 1.0)
    assert "trained without the forget set" in (npo.reason or "")


def test_stored_results_of_easyedit_pool_as_its_own_summary(edits: Edits, data_dir: Path) -> None:
    """Its `summary_metrics`: for each key the mean over records of the mean over questions."""
    path = data_dir / "others" / "easyedit_result_ROME_counterfact_first12.json"
    loaded = formats.load(path)
    for request in loaded.graph.rewrites:
        edits.add(judged(request.checks))
    kept = {request.target_new for request in loaded.graph.rewrites}
    records = [
        record
        for record in json.loads(path.read_text(encoding="utf-8"))
        if record["requested_rewrite"]["target_new"] in kept
    ]
    assert len(records) == len(loaded.graph.rewrites) == 6
    found = edits.found()
    for side, name in (("pre", "stated_pre"), ("post", "stated")):
        summary = summary_metrics([record[side] for record in records])
        assert summary.keys() == {c for c, each in found.items() if getattr(each, name) is not None}
        for criterion, value in summary.items():
            assert getattr(found[criterion], name) == pytest.approx(value), (side, criterion)


def judged(asked: Sequence[Check]) -> list[Answer]:
    none = Replies(dict.fromkeys([check.prompt for check in asked], "x"))
    return checks.judged(asked, none, none)


def summary_metrics(metrics: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """EasyEdit's summary, from a description of it; the keys are those of checks."""
    out: dict[str, list[float]] = defaultdict(list)
    for each in metrics:
        for key in ("rewrite_acc", "rephrase_acc"):
            if key in each:
                values = each[key] if isinstance(each[key], list) else [each[key]]
                out[key.removesuffix("_acc")].append(fmean(values))
        for key in ("locality", "portability"):
            for kind, values in each.get(key, {}).items():
                if kind.endswith("_acc"):
                    out[f"{key}/{kind.removesuffix('_acc')}"].append(fmean(values))
        if "fluency" in each:
            out["fluency"].append(each["fluency"]["ngram_entropy"])
    return {name: fmean(values) for name, values in out.items()}


def test_a_table_of_forgotten_facts_has_the_checks_of_its_own_requests(edits: Edits) -> None:
    """Methods are over the requests that all of them have, in both tables."""
    asked = [row(0, "forget_level2", "q?", "1", right_post=True)]
    for method in ("npo", "npo", "rmu"):
        score = edits.add([each | {"prompt": f"{len(edits.scores)}?"} for each in asked], method)
        rewrite = "common" if len(edits.scores) != 2 else "of npo alone"
        forgotten = {"target_new": "", "rewrite": rewrite}
        edits.scores[-1] = score.model_copy(update=forgotten)
    means = forgetting_table(edits.scores, "likelihood")
    assert {each.method: len(each.values) for each in means.rows} == {"npo": 1, "rmu": 1}
    kept = reports.of_means(edits.scores, means)
    assert [(each.method, each.rewrite) for each in kept] == [("npo", "common"), ("rmu", "common")]
    assert len(reports.of_means(edits.scores, None)) == 3
    found = reports.by_pair(edits.db, kept)
    assert list(found) == [("m", "npo"), ("m", "rmu")]
    assert [both["checks"][0]["n"] for both in found.values()] == [1, 1]
    assert [both["truth_ratio"] for both in found.values()] == [None, None]
