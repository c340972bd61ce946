"""Parts of the page: numbers, filters of chains, the repeat of a score, its two charts."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from thinkeval.service.models.edit import EditIn, MetricValue, Score, ScoringOptions
from thinkeval.service.reports import figure_style
from thinkeval.service.reports.edit import lines
from thinkeval.service.reports.formats import Column, Table
from thinkeval.service.reports.leakage_selection import Selection
from thinkeval.service.web.pages import charts, edit, render
from thinkeval.service.web.pages.edit import Asked


def metric(name: str, value: float, **more: Any) -> MetricValue:
    return MetricValue(metric=name, measure="likelihood", value=value, n=3, **more)


def test_what_comes_from_a_data_set_cannot_end_an_element() -> None:
    nasty = "</script><script>alert(1)</script> & 'x'"
    text = str(render.data({"name": nasty}))
    assert "<" not in text
    assert json.loads(text) == {"name": nasty}
    assert str(render.coded("see `a<b` & c")) == "see <code>a&lt;b</code> &amp; c"
    assert str(render.coded("an odd ` one")) == "an odd ` one"


def test_a_note_explains_columns_at_their_headings() -> None:
    columns = [Column("fact", str), Column("IFR after", float)]
    note, rules = "Lowest first. IFR after: as expected; n: of chains.", "Fact: short. Means."
    table = Table("t", "T", columns, [], note, rules=rules)
    meanings, rest, folded = render.meanings(table)
    assert folded == "Means."
    assert meanings == {"IFR after": "as expected", "fact": "short"}
    assert rest == "Lowest first. n: of chains."
    assert render.meanings(Table("t", "T", columns, [])) == ({}, "", "")


def test_an_address_holds_what_is_not_at_its_default() -> None:
    assert Asked().query() == ""
    picked = Selection(min_ratio=0.25, fact="e|f 1", surviving=True, steps=(2, 3), through=("A b",))
    assert Asked("p", picked, draw=20, show=60).query() == (
        "measure=p&draw=20&show=60"
        "&through=A+b&fact=e%7Cf+1&steps=2&steps=3&min_ratio=0.25&surviving=true"
    )


def score(**more: Any) -> Score:
    made: dict[str, Any] = {
        "edit": "rome-x-1",
        "dataset": "hogwarts",
        "rewrite": "x",
        "subject": "S",
        "relation": "r",
        "prompt": "{} r",
        "target_true": "O",
        "target_new": "it's new",
        "model": "organism-gpt2-seed0",
        "method": "rome",
        "values": [metric("ifr", 0.3)],
        "n_facts": 3,
        "provenance": {
            "seed": 0,
            "strength": 1.0,
            "model": {"dtype": "float32"},
            "probe": {"samples": 5, "ask": "cloze", "measures": ["p"], "chat": "auto"},
        },
    }
    return Score(**made | more)


def test_a_plain_score_is_repeated_by_its_names_alone() -> None:
    body = edit.posted(score())
    assert body == {"graph": "hogwarts", "rewrite": "x", "model": "organism", "method": "rome"}
    shown = dict(edit.commands(score(), "http://here"))
    assert next(iter(shown.values())) == (
        "thinkeval score x --graph hogwarts --model organism --method rome"
    )


def test_a_folder_is_repeated_by_the_name_that_finds_it() -> None:
    model = {"dtype": "float32", "name": "tuned", "given": "./models/my tuned"}
    mine = score(model="tuned", provenance=score().provenance | {"model": model})
    assert edit.posted(mine)["model"] == "./models/my tuned"
    typed = dict(edit.commands(mine, "http://here"))["Score it again, on the command line"]
    assert shlex.split(typed)[typed.split().index("--model") + 1] == "./models/my tuned"


def test_every_option_and_a_rewrite_of_ones_own_is_repeated() -> None:
    own = score(
        rewrite="own:1",
        options=ScoringOptions(max_steps=3, bare="exclude"),
        model="organism-llama-seed3-steps600",
        provenance={
            "seed": 7, "strength": 0.5, "model": {"dtype": "bfloat16"},
            "probe": {"samples": 1, "ask": "question", "measures": ["likelihood"]},
            "implications": {"rules": 2},
        },
    )  # fmt: skip
    posted = EditIn.model_validate(edit.posted(own))
    assert (posted.max_steps, posted.bare, posted.seed, posted.strength) == (3, "exclude", 7, 0.5)
    assert (posted.samples, posted.ask, posted.dtype) == (0, "question", "bfloat16")
    assert posted.model == "organism:llama:seed=3,steps=600"
    assert posted.implications
    typed = dict(edit.commands(own, "http://here"))["Score it again, on the command line"]
    assert "--implications" in shlex.split(typed)
    curl = dict(edit.commands(own, "http://here"))[
        "Score it again, over REST (answers at once: it is stored)"
    ]
    sent = json.loads(shlex.split(curl)[-1])
    assert sent["rewrite"]["target_new"] == "it's new"
    assert EditIn.model_validate(sent) == posted


def test_lines_without_chains_of_a_length_are_left_out() -> None:
    steps = [metric("ifr_by_steps", 0.5, step=n) for n in (1, 2)]
    steps[0] = steps[0].model_copy(update={"n": 0})
    found = lines(score(values=[metric("ifr", 0.3), *steps]))
    assert [line.label for line in found] == ["IFR", "IFR, 2-step"]


def row(name: str, ifr: float, preservation: float, steps: list[float]) -> dict[str, Any]:
    bounds = {f"{m} {end}": math.nan for m in ("IFR", "Preservation") for end in ("low", "high")}
    by_step = {f"{n}-step": value for n, value in enumerate(steps, 1)}
    return (
        {"Model": "m", "Method": name, "IFR": ifr, "Preservation": preservation}
        | by_step
        | (bounds)
    )


ROWS = [row(f"method-{i}", 0.3 + 0.01 * i, 0.99, [0.1, math.nan, 0.2, 0.3, 1.2]) for i in range(11)]


def series_of(rows: list[dict[str, Any]]) -> list[charts.Series]:
    return [each["series"] for each in charts.marked(rows)]


def test_every_method_has_a_look_of_its_own_without_colour() -> None:
    looks = {(s.marker, "hollow" in s.css) for s in series_of(ROWS)}
    assert len(looks) == len(ROWS)


def test_a_method_looks_the_same_in_charts_and_figures_whichever_others_there_are() -> None:
    """rome was a blue disc in the web UI, and a light blue triangle in the figure."""
    few = {s.name: s for s in series_of([row("rome", 0.3, 1.0, []), row("ike", 0.2, 1.0, [])])}
    every = figure_style.METHODS
    many = {s.name: s for s in series_of([row(name, 0.3, 1.0, []) for name in every])}
    drawn = figure_style.looks(every)
    assert (few["rome"].css, few["rome"].marker) == (many["rome"].css, many["rome"].marker)
    for name, each in many.items():
        assert each.marker == charts.MARKERS[drawn[name]["marker"]]
        colour = figure_style.COLOURS.index(drawn[name]["color"])
        assert f"c{colour} d{figure_style.DASHES.index(drawn[name]['linestyle'])}" in each.css
    assert len({(s.css, s.marker) for s in many.values()}) == len(every)
    assert tuple(charts.MARKERS) == figure_style.MARKERS


def test_the_colours_of_charts_are_those_of_figures_and_can_be_seen() -> None:
    """A line or mark has a contrast of 3 : 1 to its ground (WCAG 1.4.11), in both themes."""
    css = (render.FOLDER / "static" / "page.css").read_text()
    themes = re.findall(r"--c0: .*", css)
    light, *dark = [re.findall(r"--c\d: (#\w{6})", line) for line in themes]
    assert [colour.upper() for colour in light[: len(figure_style.COLOURS)]] == [
        colour.upper() for colour in figure_style.COLOURS
    ]
    grounds = re.findall(r"--card: (#\w{3,6})", css)
    assert len(grounds) == len(themes) == 3
    for ground, colours in zip(grounds, (light, *dark), strict=True):
        for colour in colours:
            assert contrast(colour, ground) >= 3, (colour, ground)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_preservation_near_1_is_not_squeezed_to_the_top_of_the_chart() -> None:
    ticks = charts.scatter(charts.marked([row(name, 0.3, 0.97, []) for name in NAMES]))["y_ticks"]
    assert float(ticks[0][1]) >= 0.9


def test_a_length_without_chains_is_a_gap_in_the_curve() -> None:
    drawn = charts.curves(charts.marked(ROWS))["lines"][0]
    assert [n for _, _, n, _ in drawn["points"]] == [1, 3, 4, 5]
    assert re.sub(r"[\d. ]+", "", drawn["path"]) == "MMLL"
    heights = [y for _, y, _, _ in drawn["points"]]
    assert heights == sorted(heights, reverse=True)
    assert min(heights) > 0


def test_a_point_without_a_value_is_not_drawn() -> None:
    points = charts.scatter(charts.marked([*ROWS, row("undefined", math.nan, 1.0, [])]))["points"]
    assert len(points) == len(ROWS)


WIDTHS = {
    "none": 28.7, "random_delta": 79.4, "fine_tuning": 64.2, "rome": 29.8, "memit": 37.2,
    "alphaedit": 53.9, "prune": 33.7, "rect": 22.4, "kn": 14.0, "ike": 16.5, "mend": 32.8,
}  # fmt: skip
"""Pixels of the names of methods, measured in a browser."""
NAMES = tuple(WIDTHS)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [row(name, 0.2, 1.0, []) for name in NAMES],
        [row(name, 0.01 * i, 1 - 0.001 * i, []) for i, name in enumerate(NAMES)],
        [row(name, 0.2 + 0.02 * i, 0.5 - 0.02 * i, []) for i, name in enumerate(NAMES)],
        [row(name, 0.98, 0.0, []) for name in NAMES],
        [row(name, 0.1 * (i % 3), 0.97, []) | {charts.BEYOND: 0.05 * i}
         for i, name in enumerate(NAMES)],
    ],
)  # fmt: skip
def test_every_name_of_a_crowded_chart_is_legible(rows: list[dict[str, Any]]) -> None:
    """No two boxes of text meet, and none lies on a mark or beyond the frame."""
    points = charts.scatter(charts.marked(rows))["points"]
    boxes = []
    for point in points:
        place, name = point["label"], point["series"].name
        assert place is not None, name
        wide = WIDTHS.get(name, 6.5 * len(name))
        left = place.x - (wide if place.anchor == "end" else 0)
        boxes.append((left, place.y - 9, left + wide, place.y + 1))
    for (x, t, r, b), (x2, t2, r2, b2) in itertools.combinations(boxes, 2):
        assert x >= r2 or x2 >= r or t >= b2 or t2 >= b
    marks = [p["at"] for p in points]
    marks += [(p["beyond"], p["at"][1]) for p in points if p["beyond"]]
    for start, top, end, low in boxes:
        assert not any(start - 4 < x < end + 4 and top - 4 < y < low + 4 for x, y in marks)
        assert start > charts.LEFT
        assert end < charts.WIDTH
        assert top > 0
        assert low < charts.HEIGHT - charts.BOTTOM
    for point in points:  # a name that is not beside its mark is joined to it
        place = point["label"]
        far = math.dist((place.x, place.y - 4), point["at"]) > 16
        assert not far or place.leader is not None


TEMPLATES = sorted((render.FOLDER / "templates").glob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_keep_to_the_policy(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle\s*=", text)
    assert not re.search(r"\son[a-z]+\s*=", text)
    assert not re.search(r"https?://", text)
    for tag in re.findall(r"<script[^>]*>", text):
        assert 'src="/' in tag or 'type="application/json"' in tag
    for written in re.findall(r"\|\s*safe", text):
        pytest.fail(f"{written}: nothing is exempt from escaping")


def empty_home(**more: Any) -> str:
    from thinkeval.service.web.pages.home import EditPage

    form = {
        "graph": "", "chains": {}, "rewrites": [], "rewrite": "", "methods": [], "method": "rome",
        "model": "organism", "formats": [], "shipped": ["hogwarts"],
    }  # fmt: skip
    values: dict[str, Any] = {
        "here": "/", "access": "all", "sets": [], "page": EditPage([], 0, None, True),
        "paged": False,
        "narrowed": "", "filters": "", "q": "", "sort": "",
        "chosen": {"graph": "", "method": "", "status": ""}, "statuses": [], "form": form,
    }  # fmt: skip
    return render.render("home.html", **values | more)


def test_an_empty_database_says_what_to_do_first() -> None:
    text = empty_home()
    assert text.count('data-import="hogwarts"') == 1
    assert "Start here" in text
    assert 'id="score"' not in text


def test_names_are_escaped_everywhere() -> None:
    text = render.render(
        "login.html", access="all", here="/login", next='/"><b>', error="<i>no</i>"
    )
    assert "<b>" not in text
    assert "<i>" not in text
