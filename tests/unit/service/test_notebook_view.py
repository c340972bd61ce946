"""Display in a notebook: escaped tables, frames, pictures."""

from __future__ import annotations

import re
from pathlib import Path

from support.states.comparisons import comparison
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.models.notebook import Picture, table_html

SCORE = Score(
    edit="e", dataset="g", rewrite="r", subject="<Ada>", relation="lived-in", prompt="{} lived in",
    target_true="London", target_new="Paris & Rome", model="m", method="rome", n_facts=1,
    values=[
        MetricValue(metric="ifr", measure="p", value=0.25, n=3),
        MetricValue(metric="ifr_by_steps", measure="p", step=2, value=0.5, n=1),
        MetricValue(metric="preservation", measure="p", value=None, n=0),
    ],
)  # fmt: skip


def test_texts_are_escaped_and_undefined_is_a_dash() -> None:
    found = table_html("a <b>", ("x", "y"), [("<script>", None), (1, 0.12345)])
    assert "<caption>a &lt;b&gt;</caption>" in found
    assert "<td>&lt;script&gt;</td><td>–</td>" in found
    assert "<td>1</td><td>0.123</td>" in found


def test_a_score_is_shown_and_framed() -> None:
    shown = SCORE._repr_html_()
    assert "&lt;Ada&gt;: London → Paris &amp; Rome (rome on m)" in shown
    assert shown.count("<tr>") == 3, "the header, IFR, Preservation"
    frame = SCORE.to_frame()
    assert frame["metric"].tolist() == ["ifr", "ifr_by_steps", "preservation"]
    assert Score.model_validate_json(SCORE.stored()) == SCORE


def test_a_score_says_its_verdict_first_and_its_metrics_in_the_order_of_show() -> None:
    names = ("subject_retention", "preservation", "ifr", "efficacy")
    values = [
        MetricValue(metric=name, measure="likelihood", value=i / 8, n=3, low=0.0, high=0.9)
        for i, name in enumerate(names, 1)
    ]
    values.append(MetricValue(metric="ifr", measure="p", value=0.875, n=3))
    said = "The edit <took>; much of the old fact can still be deduced."
    score = SCORE.model_copy(update={"values": values, "verdict": said})
    shown = score._repr_html_()
    assert shown.startswith("<p><strong>The edit &lt;took&gt;; much of")
    assert re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td>", shown) == [
        ("efficacy", "0.500 [0.00, 0.90]"),
        ("IFR", "0.375 [0.00, 0.90]"),
        ("preservation", "0.250 [0.00, 0.90]"),
        ("subject retention", "0.125 [0.00, 0.90]"),
    ]
    assert [getattr(score, name) for name in names] == [0.125, 0.25, 0.375, 0.5], "by likelihood"
    lines = repr(score).splitlines()
    assert len(lines) == 3
    assert lines[0] == "<Score e: <Ada>: London → Paris & Rome (rome on m)"
    assert lines[2] == said == score.verdict
    assert "verdict" not in score.stored(), "it is read off the graph"


def test_a_score_without_a_number_has_none() -> None:
    bare = SCORE.model_copy(update={"values": []})
    assert (bare.ifr, bare.efficacy, bare.verdict) == (None, None, None)
    assert len(repr(bare).splitlines()) <= 3


def test_a_comparison_is_shown_and_framed() -> None:
    out = comparison()
    assert "ab → cd, graph g, likelihood" in out._repr_html_()
    assert list(out.to_frame()["change"]) == ["replaced", "weakened", "weakened", "added"]
    frame = out.to_frame("drift")
    assert len(frame) == 18
    assert frame["by"].value_counts().to_dict() == {"relation": 15, "distance": 2, "all": 1}


def test_a_picture_is_saved(tmp_path: Path) -> None:
    picture = Picture(b"<svg/>")
    assert picture._repr_svg_() == "<svg/>"
    assert picture.save(tmp_path / "p.svg").read_bytes() == b"<svg/>"
