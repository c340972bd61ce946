"""Parts of the page: numbers, filters of chains, the repeat of a score."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from thinkeval.service.models.edit import EditIn, MetricValue, Score, ScoringOptions
from thinkeval.service.reports.edit import lines
from thinkeval.service.reports.formats import Column, Table
from thinkeval.service.reports.leakage_selection import Selection
from thinkeval.service.web.pages import edit, render
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
