"""Figures: every kind in every format, the same bytes twice, and words where nothing is defined.

What a figure shows is read off its SVG, where matplotlib keeps every text as a comment.
"""

from __future__ import annotations

import io
import math
import re
import threading
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from thinkeval.cypher.rows import ScoredChainRow
from thinkeval.cypher.rows.chains import Link
from thinkeval.service.base.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.models.forms import FormAccuracy, FormOut
from thinkeval.service.reports import figures, leakage_figure
from thinkeval.service.reports.figure_style import encode
from thinkeval.service.reports.leakage_map import Edge, lay_out

HARRY, HOGWARTS = "Harry Potter", "Hogwarts"
MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF"}


def _link(subject: str, relation: str, object_: str, pre: float, post: float) -> Link:
    return Link(
        id=f"{subject}|{relation}|{object_}", subject=subject, relation=relation, object=object_,
        prompt="{} x", question=None, pre=pre, post=post, ratio=post / pre if pre else None,
    )  # fmt: skip


def _row(*links: Link) -> ScoredChainRow:
    pre, post = math.prod(li.pre for li in links), math.prod(li.post for li in links)
    return ScoredChainRow(
        steps=len(links), entities=(links[0].subject, *(li.object for li in links)), r_pre=pre,
        r_post=post, ratio=post / pre if pre else None, known=pre >= 0.01,
        surviving=post > 0.01 * pre, links=links,
    )  # fmt: skip


RON = _link(HARRY, "is friends with", "Ron $ & <Weasley>", 0.9, 0.7)
HOUSE = _link("Ron $ & <Weasley>", "was sorted into", "Gryffindor", 0.85, 0.8)
SCHOOL = _link("Gryffindor", "is a house at", HOGWARTS, 0.9, 0.85)
BARE = _link(HARRY, "studied at", HOGWARTS, 0.99, 0.001)
LOST = _link("Gryffindor", "was founded in", "Scotland", 0.6, 0.0)
LAST = _link("Scotland", "is home to", HOGWARTS, 0.5, 0.5)
ROWS = [_row(RON, HOUSE, SCHOOL), _row(BARE), _row(RON, HOUSE, LOST, LAST)]


def _form(wins: float | None) -> FormOut:
    unedited = FormAccuracy.model_construct(is_control=False)
    names = FormOut.model_fields.keys() - {"answers", "unedited"}
    values = dict.fromkeys(names) | {"form": "question/3-shot", "protocol": "q", "facts": 0}
    return FormOut.model_construct(**values | {"wins": wins, "unedited": unedited})


def _score(method: str = "rome", ifr: float = 0.4, n: int = 3, bounds: bool = False) -> Score:
    def value(metric: str, number: float, n: int, step: int | None = None) -> MetricValue:
        low, high = (number / 2, number * 1.2) if bounds else (None, None)
        return MetricValue(metric=metric, measure="likelihood", step=step, value=number, n=n,
                           low=low, high=high)  # fmt: skip

    values = [
        value("ifr", ifr if n else 0.0, n),
        value("preservation", 0.9 if n else 1.0, n),
        value("efficacy", 0.95, 1),
        *(value("ifr_by_steps", ifr if n else 0.0, n, step) for step in (1, 2, 3)),
        *(value("ifr_by_steps", 0.0, 0, step) for step in (4, 5)),
    ]
    return Score(
        edit=f"{method}-1", dataset="hogwarts", rewrite="r", subject=HARRY, relation="studied at",
        prompt="{} studied at", target_true=HOGWARTS, target_new="Ilvermorny", model="organism",
        method=method, values=values, n_facts=6, forms=[_form(ifr if n else None)],
    )  # fmt: skip


def _texts(svg: bytes) -> str:
    """Every text of the figure, in order; it must be well-formed XML."""
    ET.parse(io.BytesIO(svg))
    found = re.findall(r"<!-- (.*?) -->", svg.decode(), flags=re.DOTALL)
    return "\n".join(found)


def _svg(rows: list[ScoredChainRow], limit: int = 12) -> str:
    return _texts(
        encode(
            lambda: leakage_figure.draw(_score(), list(enumerate(rows, 1)), "likelihood", limit),
            "svg",
            "t",
        )
    )


def _words(text: str) -> str:
    return " ".join(text.split())


def test_a_leakage_map_has_the_new_object_and_says_what_was_selected() -> None:
    new = (_link(HARRY, "studied at", "Ilvermorny", 0.0005, 0.98), "target_new")

    def texts(caption: bool) -> str:
        rows = list(enumerate(ROWS, 1))[:1]
        return _texts(encode(
            lambda: leakage_figure.draw(_score(), rows, "likelihood", 12, edited=[new],
                                 chosen="of 3 facts", caption=caption), "svg", "x",
        ))  # fmt: skip

    assert "Ilvermorny\n(new object)" in texts(False)
    assert "Chains of 3 facts" not in texts(False)
    assert "Chains of 3 facts: 1 of 1 surviving chains shown" in texts(True)


@pytest.mark.parametrize("kind", figures.METHODS_KINDS)
@pytest.mark.parametrize("fmt", figures.FORMATS)
def test_methods_are_drawn_in_every_format_and_twice_alike(kind: str, fmt: str) -> None:
    scores = [_score("rome", bounds=True), _score("memit", 0.7)]
    first = figures.draw_methods(scores, kind, "likelihood", fmt)
    assert first.startswith(MAGIC[fmt])
    assert figures.draw_methods(scores, kind, "likelihood", fmt) == first
    assert figures.draw_methods([_score("rome", 0.1)], kind, "likelihood", fmt) != first


@pytest.mark.parametrize("fmt", figures.FORMATS)
def test_no_file_tells_when_it_was_made(fmt: str) -> None:
    body = encode(lambda: figures.draw_chain(_score(), ROWS, "likelihood", 1), fmt, "t")
    assert encode(lambda: figures.draw_chain(_score(), ROWS, "likelihood", 1), fmt, "t") == body
    for word in (b"CreationDate", b"dc:date", b"tEXtCreation"):
        assert word not in body


def test_axis_names_the_measure_and_caption_counts() -> None:
    scores = [_score("rome"), _score("memit", 0.7)]
    text = _words(_texts(figures.draw_methods(scores, "ifr_by_steps", "likelihood", "svg")))
    assert "IFR (likelihood)" in text
    assert "n = 2 edits of hogwarts: 1 rewrite and 9 chains with R ≠ 0 a method." in text
    assert "rome (0.95)" in text
    assert "interval" not in text
    text = _words(_texts(figures.draw_methods(scores, "ifr_preservation", "likelihood", "svg")))
    assert "Preservation (likelihood)" in text
    assert "IFR (likelihood)" in text


def test_forms_are_drawn_with_their_names_and_counts() -> None:
    other = _score("memit", 0.7).model_copy(update={"edit": "memit-2", "rewrite": "r2"})
    svg = figures.draw_methods([_score(), other], "forms", "likelihood", "svg")
    text = _words(_texts(svg))
    assert "question/3-shot" in text
    assert "1 rewrite a form and method." in text
    assert "rome (0.95)" in text


def test_intervals_are_named_where_they_are_stored() -> None:
    for kind in ("ifr_by_steps", "ifr_preservation"):
        svg = figures.draw_methods([_score(bounds=True)], kind, "likelihood", "svg")
        assert "Bars: 95 % intervals of the sampled answers" in _words(_texts(svg))


def test_models_have_panels_of_their_own() -> None:
    other = _score("rome").model_copy(update={"model": "gpt2-xl"})
    svg = figures.draw_methods([_score(), other], "ifr_by_steps", "likelihood", "svg").decode()
    assert {"axes_1", "axes_2"} <= set(re.findall(r'id="(axes_\d)"', svg))
    assert "axes_3" not in svg


def test_without_chains_the_figure_says_so() -> None:
    empty = [_score(n=0)]
    text = _texts(figures.draw_methods(empty, "ifr_by_steps", "likelihood", "svg"))
    assert "IFR by steps is undefined" in _words(text)
    text = _texts(figures.draw_methods(empty, "ifr_preservation", "likelihood", "svg"))
    assert "None of these edits has a chain" in _words(text)
    text = _texts(figures.draw_methods(empty, "forms", "likelihood", "svg"))
    assert "None of these edits has an efficacy in another form" in _words(text)
    text = _texts(figures.draw_methods([_score()], "ifr_by_steps", "p", "svg"))
    assert "undefined" in text  # a measure that was not taken
    assert "No chain of at most 5 facts leads from" in _words(_svg([]))
    drawn = encode(lambda: figures.draw_chain(_score(), [], "likelihood", 1), "svg", "t")
    assert "No chain of at most 5 facts leads from" in _words(_texts(drawn))


def test_no_surviving_chain_is_drawn_dashed_and_said() -> None:
    text = _words(_svg([ROWS[1]]))
    assert "No chain survives; 1 of 1 cut chains shown; n = 1 chains" in text


def test_leakage_shows_roles_numbers_and_names_as_they_are() -> None:
    text = _svg(ROWS)
    assert "(subject)" in text
    assert "(old object)" in text
    assert ".90 → .70" in text
    # XML comments keep & and < as they are; a $ starts no formula.
    assert "Ron $ &" in text
    assert "1 of 1 surviving chains shown; 2 of 2 cut chains shown; n = 3 chains" in _words(text)


def test_leakage_marks_the_facts_of_the_leak_cut() -> None:
    """As the web UI's map does; exported figures showed no mark."""

    def texts(marked: tuple[str, ...]) -> str:
        rows = list(enumerate(ROWS, 1))
        return _texts(encode(
            lambda: leakage_figure.draw(_score(), rows, "likelihood", 12, marked=marked), "svg", "x"
        ))  # fmt: skip

    assert "✂ is a\nhouse at\n.90 → .85" in texts((SCHOOL.id,))
    assert texts((SCHOOL.id,)).count("✂") == 2, "one fact, and what it means"
    assert "✂: what else to edit" in _words(texts((SCHOOL.id,)))
    assert "✂" not in texts(())
    assert "✂" not in texts(("another",))


def test_leakage_is_limited_to_the_strongest() -> None:
    many = [
        _row(_link(HARRY, "knows", f"P{i}", 1.0, 1 - i / 50), _link(f"P{i}", "at", HOGWARTS, 1, 1))
        for i in range(40)
    ]
    text = _svg(many, limit=5)
    assert "5 of 40 surviving chains shown, those of most of IFR" in _words(text)
    assert re.findall(r"^P\d+$", text, flags=re.MULTILINE) == [f"P{i}" for i in range(5)]


def test_cut_links_are_dashed_and_surviving_ones_solid() -> None:
    figure = leakage_figure.draw(_score(), list(enumerate(ROWS, 1)), "likelihood", 12)
    styles = [p.get_linestyle() for p in figure.axes[0].patches if hasattr(p, "get_arrowstyle")]
    assert len(styles) == 6
    assert sum(style == "-" for style in styles) == 3


def test_chain_shows_p_and_retention_under_each_link() -> None:
    drawn = encode(lambda: figures.draw_chain(_score(), ROWS, "likelihood", 1), "svg", "t")
    text = _texts(drawn)
    for shown in ("0.90 → 0.70", "retention 0.78", "0.85 → 0.80", "retention 0.94", "0.90 → 0.85"):
        assert shown in text
    assert "R = Π p_pre = 0.689, R' = Π p_post = 0.476" in _words(text)
    assert "retention R'/R = 0.691; it survives" in _words(text)


def test_a_link_that_was_not_known_has_no_retention() -> None:
    rows = [_row(_link(HARRY, "studied at", HOGWARTS, 0.0, 0.5))]
    text = _texts(encode(lambda: figures.draw_chain(_score(), rows, "likelihood", 1), "svg", "t"))
    assert "undefined" in text


def test_nothing_overlaps_in_the_layout() -> None:
    """Slots of one column keep their distance; entities stand by distance from the subject."""
    import random

    rng = random.Random(3)
    names = [f"e{i}" for i in range(12)]
    pairs = {(rng.choice(["s", *names]), rng.choice([*names, "o"])) for _ in range(60)}
    edges = [Edge(f"{a}>{b}", a, b, 0.3) for a, b in sorted(pairs) if a != b]
    edges += [Edge(f"s>{n}", "s", n, 0.3) for n in names if ("s", n) not in pairs]
    heights = dict.fromkeys(["s", "o", *names], 0.5)
    laid = lay_out(edges, "s", "o", heights, 0.1)
    assert laid.column["s"] == 0
    assert laid.column["o"] == max(laid.column.values())
    slots: dict[int, list[tuple[float, float]]] = {}
    for name, column in laid.column.items():
        slots.setdefault(column, []).append((laid.y[name], heights[name]))
    for edge in edges:
        for column, slot in laid.routes[edge.id][1:-1]:
            labelled = laid.labels[edge.id] == (column, slot)
            slots.setdefault(column, []).append((laid.y[slot], edge.height if labelled else 0.1))
    for held in slots.values():
        held.sort()
        for (y, height), (above, more) in pairwise(held):
            assert above - y >= (height + more) / 2 - 1e-9


def test_unknown_kinds_and_formats_are_refused() -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'ifr_by_steps'"):
        figures.draw_methods([_score()], "ifr_by_step", "likelihood", "png")
    with pytest.raises(UsageError, match="gif"):
        figures.draw_methods([_score()], "ifr_by_steps", "likelihood", "gif")
    with pytest.raises(UsageError, match="perplexity"):
        figures.draw_methods([_score()], "ifr_by_steps", "perplexity", "png")
    with pytest.raises(NothingStoredError):
        figures.draw_methods([], "ifr_by_steps", "likelihood", "png")


def test_threads_draw_the_same_and_leave_the_settings_alone() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    alone = figures.draw_methods([_score()], "ifr_by_steps", "likelihood", "svg")
    made: list[bytes] = []

    def work() -> None:
        made.append(figures.draw_methods([_score()], "ifr_by_steps", "likelihood", "svg"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [alone] * 4
    assert dict(matplotlib.rcParams) == before


def test_a_users_matplotlibrc_changes_nothing() -> None:
    import matplotlib

    alone = figures.draw_methods([_score()], "ifr_preservation", "likelihood", "png")
    with matplotlib.rc_context({"font.size": 20, "savefig.dpi": 40, "axes.facecolor": "red"}):
        assert figures.draw_methods([_score()], "ifr_preservation", "likelihood", "png") == alone
