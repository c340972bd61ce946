"""Web UI of a scored edit: a first screen with the answer, and tabs with addresses of their own."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from ....cypher import rows
from ....cypher.metric_options import displays
from ....cypher.rows.chains import Link
from ....editing import registry
from ...base.errors import NotFoundError, UsageError
from ...base.formatting import interval, number, pluralize, short
from ...leakcut import words
from ...leakcut.coedit_kind import COEDIT
from ...leakcut.request import edit_cut
from ...models.edit import ENDED, MEASURE_NAMES, EditOptions, Measure, Score
from ...models.leakcut import CutIn, CutOut, KeyKind
from ...models.options import words_of
from ...reports.browser import QUESTIONS, chain_link, cut_link, guide_command, login, question_links
from ...reports.by_kind import OF_SUCCESS, additivity, successes, variant_of
from ...reports.checks import checks_table
from ...reports.edit import (
    EdgeOut,
    chain_tree,
    conversation_table,
    graph_of,
    leakage_table,
    lines,
    measure_of,
)
from ...reports.forms import answers_table, forms_table
from ...reports.graph_tables import ways_table
from ...reports.leakage_map import BANDS, draw, page_svg
from ...reports.leakage_selection import Length, Selection
from ...reports.table import STEPS
from ...reports.tasks import tasks_table
from ...reports.verdict import LEFT, Verdict, is_bare, judged, next_steps
from ...rules.implications import GOOD, MEANINGS, implications
from ...rules.omega import KINDS, WAYS, Chosen, mixed, omega
from ...rules.store import kept_rules
from ...scoring import metrics, record
from ...scoring.append import LISTS, MEASURE, WEIGHTS, kept
from ...scoring.chat import way_of
from ...scoring.request import posted
from ..state import AppState, Db
from .render import STATIC, render
from .routes import HEADERS, EditId, Taken, page

if TYPE_CHECKING:
    from collections.abc import Collection

    from ....cypher.rows import ScoredChainRow
    from ....cypher.run import Database
    from ...models.edit import AppendOut
    from ...reports.browser import Login
    from ...reports.verdict import Part


DRAWN = 8
"""Surviving chains that the map draws at first."""

LISTED = 10
"""Rows of a list at first: more would be longer than a screen."""

MOVED = "-moved"
"""Order of the facts where none is chosen: those first whose probability changed most."""

TABS = {
    "": "Map",
    "chains": "Chains",
    "facts": "Facts",
    "next": "What else to edit",
    "asked": "How it was asked",
    "rules": "Rules",
    "neo4j": "Neo4j",
    "export": "Export",
}
"""Tabs by the last part of their address."""

OF_APPENDED = ("", "asked", "neo4j", "export")
"""Tabs of an edit that appends an answer: it has no old object that could leak."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of an address.

    Attributes:
        draw: surviving chains that the map draws at most; `show`: rows of a list.
        sort: a column of the facts, with "-" before it for the largest first.
    """

    measure: Measure | None = None
    selection: Selection = field(default_factory=Selection)
    draw: int = DRAWN
    show: int = LISTED
    sort: str = MOVED

    def query(self, **changed: object) -> str:
        """These parameters as the query of an address; defaults are left out."""
        pairs: dict[str, object] = {}
        if self.measure is not None:
            pairs["measure"] = self.measure
        if self.draw != DRAWN:
            pairs["draw"] = self.draw
        if self.show != LISTED:
            pairs["show"] = self.show
        if self.sort != MOVED:
            pairs["sort"] = self.sort
        selected = self.selection.query()
        both = urlencode(pairs | changed)
        return "&".join(text for text in (both, selected) if text)


@dataclass(frozen=True, slots=True)
class View:
    """One edit by one measure, as all tabs need it.

    Attributes:
        rows: all its chains, surviving first, then by part of IFR; empty for an appended answer.
    """

    db: Database
    score: Score
    measure: Measure
    asked: Asked
    rows: Sequence[ScoredChainRow]
    judged: Verdict

    @property
    def path(self) -> str:
        """Address of the first screen."""
        return f"/edits/{quote(self.score.edit, safe='')}"

    def address(self, tab: str = "", query: str = "") -> str:
        """Address of a tab."""
        path = f"{self.path}/{tab}" if tab else self.path
        return f"{path}?{query}" if query else path

    def values(self, tab: str) -> dict[str, Any]:
        """Values of `edit_frame.html`."""
        chosen = self.asked.measure
        query = urlencode({"measure": chosen}) if chosen else ""
        shown = OF_APPENDED if self.score.append else tuple(TABS)
        if tab != "rules" and not kept_rules(self.db, self.score.dataset):
            shown = tuple(key for key in shown if key != "rules")
        return {
            "score": self.score,
            "measure": self.measure,
            "measures": MEASURE_NAMES,
            "judged": self.judged,
            "tab": tab,
            "tabs": [(self.address(key, query), TABS[key], key == tab) for key in shown],
            "path": self.path,
        }


def view(db: Database, score: Score, asked: Asked) -> View:
    """The view that an address asks for.

    Raises:
        UsageError: the measure was not taken.
    """
    measure = measure_of(score, asked.measure)
    rows = [] if score.append else metrics.chain_rows(db, score, measure)
    return View(db, score, measure, asked, rows, judged(db, score, measure, rows))


# Values of `edit_appended.html`: an appended answer, and how it moved the others (PEAK).

DISTURBED = 0.3
"""From this AFF or ANF on, the summary speaks of harm."""
ROLES = {"new": "added", "correct": "correct", "hard": "false, linked", "random": "false, far"}


@dataclass(frozen=True, slots=True)
class Moved:
    """One answer at one prompt.

    Attributes:
        kept: whether the filter before the edit keeps it; always for the new answer.
    """

    name: str
    role: str
    pre: float
    post: float
    kept: bool = True


def append_values(db: Database, score: Score, append: AppendOut) -> dict[str, Any]:
    """Return the result in words, additivity, successes, and the answers at each prompt."""
    prompts = [
        row
        for row in db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
        if row.role != "locality"
    ]
    return {
        "summary": summary(score, append),
        "added_by": _added_by(score, append),
        "additivity": additivity(score),
        "successes": successes(score),
        "of_success": OF_SUCCESS,
        "moved": [(row.text, _answers(row, score.target_new)) for row in prompts],
        "roles": ROLES,
    }


def summary(score: Score, append: AppendOut) -> str:
    """Return the result of a request to append in a few sentences."""
    success = score.number("append_es", MEASURE)
    if success is None:
        taken = "No prompt passes the filter, so that the metrics are undefined"
    else:
        taken = f"{score.target_new} {'is now' if success else 'is not'} among the answers"
    values = {name: score.number(f"{name.lower()}_hard", MEASURE) for name in ("AFF", "ANF")}
    harm = [f"{name} {number(value)}" for name, value in values.items() if value is not None]
    worst = max(value or 0.0 for value in values.values())
    how = "stayed" if worst < DISTURBED else "were disturbed"
    correct = pluralize(append.n_correct, "correct answer")
    rest = f" The {correct} {how} ({', '.join(harm)}; 0 is undisturbed)." if harm else ""
    return f"{taken}.{rest} No object was replaced: IFR does not apply."


def _answers(row: rows.AppendAnswersRow, new: str) -> list[Moved]:
    """Return the answers at a prompt, the likeliest after the edit first."""
    chosen = kept(row.correct_pre, row.hard_pre, row.random_pre)
    found = [Moved(new, "new", row.new_pre, row.new_post)]
    for role in LISTS:
        names: Sequence[str] = getattr(row, role)
        pre, post = getattr(row, f"{role}_pre"), getattr(row, f"{role}_post")
        places = set(getattr(chosen, role))
        found += [Moved(name, role, pre[i], post[i], i in places) for i, name in enumerate(names)]
    return sorted(found, key=lambda each: -each.post)


def _added_by(score: Score, append: AppendOut) -> str:
    """Return method and variant in words, with the weights of APP."""
    variant = variant_of(append)
    text = score.method if variant == "bare" else f"{score.method} {variant}"
    if append.loss == "app":
        weights = zip("αβγ", (getattr(append, name) for name in WEIGHTS), strict=True)
        text += f" ({', '.join(f'{name} {value:g}' for name, value in weights if value)})"
    return text


# Values of `_edit_map.html`: the leakage map, its filters, and values for a script.

AMOUNTS = (3, 8, 20, 50, 1000)
"""Choices of how many surviving chains are drawn; the last is for all."""


def map_values(view: View, next_facts: Collection[str] = ()) -> dict[str, Any]:
    """Values of the map.

    Args:
        next_facts: ids of the facts of the leak cut, in this edit's graph.
    """
    score, selection = view.score, view.asked.selection
    found = selection.chosen(view.rows)
    graph = graph_of(view.db, score, view.measure, view.rows)
    edited = [(_link(edge), edge.role) for edge in graph.edges if edge.role == "target_new"]
    drawing = draw(
        found, score.subject, score.target_true, score.target_new,
        limit=view.asked.draw, edited=edited if found else (), fit=view.asked.draw == DRAWN,
    )  # fmt: skip
    chosen = {*selection.through, selection.fact or "", selection.first or ""}
    title = f"Chains from {score.subject} to {score.target_true}"
    return {
        "map": drawing,
        "map_svg": Markup(page_svg(drawing, title, chosen, next_facts)),
        "map_chains": {number: _said(row) for number, row in drawing.shown},
        "map_facts": {edge.id: _described(edge) for edge in graph.edges if edge.role != "outside"},
        "map_names": sorted({name for row in view.rows for name in row.entities}),
        "map_first": {
            row.links[0].id: f"{row.links[0].relation} {row.links[0].object}" for row in view.rows
        },
        "map_steps": [step for step in STEPS if any(row.steps == step for row in view.rows)],
        "map_amounts": AMOUNTS,
        "map_bands": ("≤ .1", *(f"> {short(bound)}" for bound in BANDS)),
        "map_found": len(found),
        "map_whole": len(view.rows),
        "selection": selection,
        "selected": selection.in_words(view.rows),
        "asked": view.asked,
        "next_marked": bool(next_facts),
        "export_query": view.asked.query(measure=view.measure, limit=view.asked.draw),
    }


def _link(edge: EdgeOut) -> Link:
    return Link(
        edge.id, edge.source, edge.relation, edge.target, edge.prompt, edge.question,
        edge.pre or 0.0, edge.post or 0.0, edge.ratio,
    )  # fmt: skip


def _said(row: Any) -> str:
    names = " → ".join(row.entities)
    if row.ratio is None:
        return f"{names}: not known before"
    return f"{names}: retention {short(row.ratio)}, {'survives' if row.surviving else 'cut'}"


def _described(edge: EdgeOut) -> dict[str, Any]:
    """A fact as the script shows it beside the map."""
    found = edge.model_dump()
    found["asked"] = found.pop("prompt").replace("{}", edge.source)
    return found


# Values of `_leak_cut.html`: the leak cut, beside the result of a scored edit.

SECONDS = 2.0
"""Longest time of the solver: a page waits for it."""

OPEN = 10
"""Open chains that are listed; REST has all."""

KEYS: Mapping[KeyKind, str] = {
    "auto": "as the method needs",
    "subject": "one fact a subject",
    "off": "any facts",
}
"""Choices of the form."""


@dataclass(frozen=True, slots=True)
class CutAsked:
    """The options of the form; `lock` has facts or subjects, separated by `;`."""

    leak: float = 0.1
    keys: KeyKind = "auto"
    lock: str = ""

    @property
    def options(self) -> CutIn:
        """The request of the cut; its other cuts are not listed."""
        locks = tuple(name.strip() for name in self.lock.split(";") if name.strip())
        return CutIn(leak=self.leak, keys=self.keys, lock=locks, alternatives=0, seconds=SECONDS)


def cut_values(
    db: Database, score: Score, measure: Measure, asked: CutAsked, browser: str
) -> dict[str, Any]:
    """Values of the section.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
    """
    values: dict[str, Any] = {"cut_asked": asked, "cut_keys": KEYS, "cut": None, "co_edits": {}}
    if score.append is not None:
        return values
    values |= {"coedits": COEDIT.store.page(db, edit=score.edit)}
    try:
        cut = edit_cut(db, score, measure, asked.options)
    except (NotFoundError, UsageError) as error:
        return values | {"cut_problem": f"{error.detail} {error.remedy}"}
    first = min(len(cut.facts), words.ROUNDS)
    body = _body(score, cut)
    return values | {
        "cut": cut,
        "cut_headline": words.headline(cut),
        "cut_limits": words.limits(cut),
        "cut_first": cut.facts[:first],
        "cut_promise": words.promise(cut, first) if first else "",
        "cut_step": words.next_step(cut, score),
        "cut_together": words.together(cut, score, first) if first else "",
        "co_edits": {
            n: body and json.dumps(body | {"per_round": n})
            for n in {*range(1, first + 1), len(cut.facts)}
        },
        "cut_open": cut.open[:OPEN],
        "cut_link": _leak_cut_link(browser, score, cut) if browser and cut.facts else None,
    }


def _body(score: Score, cut: CutOut) -> dict[str, Any] | None:
    """The body of `POST /v1/coedits` for facts of the cut in one round; None if it cannot be.

    That is a round of a co-edit or sequence, a scaled update, a control, a change of the prompt,
    and a cut by another measure than co-edits take: it may list other facts.
    """
    if cut.measure != words.MEASURE or not cut.facts:
        return None
    whole = score.sequence is None and score.provenance.get("strength", 1) == 1
    if not whole or score.kind != "replace" or score.method not in registry.names():
        return None
    if registry.info(score.method).kind != "weights":
        return None
    return posted(score) | {"cut": words.asked(cut), "rounds": 1}


def _leak_cut_link(browser: str, score: Score, cut: CutOut) -> str:
    facts = [fact.id for fact in cut.facts]
    return cut_link(browser, score, facts, measure=cut.measure, leak=cut.options.leak)


def marked(graph: dict[str, Any], edit: str, cut: CutOut | None) -> dict[str, Any]:
    """The drawing's graph; `next` is True for each fact of the leak cut."""
    chosen = {f"{edit}|{fact.id}" for fact in cut.facts} if cut else set()
    for edge in graph["edges"]:
        edge["next"] = edge["id"] in chosen
    return graph


# Values of the first screen of an edit: verdict, four figures, map, next step, chain tree.

FIGURES = (
    ("Efficacy", "efficacy", "the edited fact is answered anew; good: 1"),
    ("IFR", "ifr", "of the old fact, still deduced by chains; good: 0"),
    ("Preservation", "preservation", "of other facts on the chains is kept; good: 1"),
    ("Subject retention", "subject_retention", "of other facts about the subject is kept; good: 1"),
)
"""The four figures: label, metric, meaning."""
FORGETTING = ("Forgetting", "forgetting", "of the fact's probability is gone; good: 1")
"""In place of efficacy, where the fact shall be forgotten."""

BRANCHES = 6
"""Branches of the chain tree that are listed at first, at each level."""
TOP = 3
"""Branches that the first screen lists."""
LEAKS = LEFT[-2][0]
"""IFR from which on something leaks."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four figures.

    Attributes:
        bounds: its 95 % interval in brackets; empty where nothing was sampled.
        part: the verdict's part on it.
    """

    label: str
    meaning: str
    value: str
    bounds: str
    n: int
    part: Part


def figures(view: View) -> list[Figure]:
    """Efficacy, IFR, Preservation and subject retention by the view's measure."""
    parts = (view.judged.installed, view.judged.left, view.judged.kept, view.judged.subject)
    shown = (FORGETTING, *FIGURES[1:]) if view.score.kind == "forget" else FIGURES
    found = []
    for (label, metric, meaning), part in zip(shown, parts, strict=True):
        value = view.score.get(metric, view.measure)
        bounds = ""
        if value is not None and value.value is not None:
            known = value.low is not None and value.high is not None
            bounds = interval((value.low, value.high)) if known else ""  # type: ignore[arg-type]
        found.append(
            Figure(label, meaning, number(value.value if value else None), bounds,
                   value.n if value else 0, part)
        )  # fmt: skip
    return found


def overview_values(view: View, browser: str) -> dict[str, Any]:
    """Values of `edit_overview.html`.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
    """
    score = view.score
    values = view.values("") | numbers(view)
    walked = score.conversation
    values["conversation"] = None if walked is None else conversation_table(walked)
    values["forms"] = forms_table(score.forms) if score.forms else None
    values["form_answers"] = answers_table(score.forms)
    values["checks"] = checks_table(score.checks) if score.checks else None
    values["tasks"] = tasks_table(score.tasks) if score.tasks else None
    if score.append:
        return values | append_values(view.db, score, score.append)
    cut = cut_values(view.db, score, view.measure, CutAsked(), browser)
    facts = cut["cut"].facts if cut["cut"] else ()
    chosen = {f"{score.edit}|{fact.id}" for fact in facts}
    return (
        values
        | cut
        | map_values(view, chosen)
        | {
            "figures": figures(view),
            "tree": chain_tree(view.rows),
            "branches": BRANCHES,
            "top": TOP,
            "leaks": LEAKS,
            "steps": next_steps(score, view.measure),
            "methods": len(
                {score.method}
                | {row.method for row in _others(view.db, score) if row.model == score.model}
            ),
            "survive": sum(row.surviving and not is_bare(row, score) for row in view.rows),
        }
    )


def numbers(view: View) -> dict[str, Any]:
    """Values of `_edit_numbers.html`: every metric by every measure."""
    return {"lines": lines(view.score), "display": displays()}


# Values of the tabs that list: chains, facts, leak cut, rules.

MORE = 50
"""Rows that "Show more" adds."""


def _more(view: View, tab: str, whole: int) -> str | None:
    """Address of the same list with more rows; None where all are listed."""
    if whole <= view.asked.show:
        return None
    longer = replace(view.asked, show=view.asked.show + MORE)
    return view.address(tab, longer.query())


def chain_values(view: View, browser: str) -> dict[str, Any]:
    """Values of `edit_chains.html`: chains by the filter, each with a link to Neo4j Browser."""
    found = view.asked.selection.chosen(view.rows)
    shown = found[: view.asked.show]
    return (
        view.values("chains")
        | map_values(view)
        | {
            "found": found,
            "shown": shown,
            "surviving": sum(row.surviving and not is_bare(row, view.score) for _, row in found),
            "unknown": sum(not row.known for _, row in found),
            "links": [chain_link(browser, view.score, row) if browser else "" for _, row in shown],
            "more": _more(view, "chains", len(found)),
        }
    )


FACT_COLUMNS: Mapping[str, tuple[str, Callable[[EdgeOut], Any]]] = {
    "fact": ("Fact", lambda edge: (edge.source, edge.relation, edge.target)),
    "pre": ("p before", lambda edge: edge.pre),
    "post": ("p after", lambda edge: edge.post),
    "moved": ("difference", lambda edge: _moved(edge)),
    "ratio": ("retention", lambda edge: edge.ratio),
    "change": ("change", lambda edge: edge.change),
    "says": ("says now", lambda edge: edge.says_post),
    "chains": ("chains", lambda edge: edge.chains),
    "surviving": ("surviving", lambda edge: edge.surviving),
}
"""Columns of the facts by the name in the address: the heading and the value to sort by."""

_WORDS = ("fact", "change", "says")
"""Columns of words: sorted from A to Z at first."""


def _moved(edge: EdgeOut) -> float | None:
    """Return how far the probability of a fact moved, up or down."""
    return None if edge.pre is None or edge.post is None else abs(edge.post - edge.pre)


def sorted_facts(edges: Sequence[EdgeOut], sort: str) -> list[EdgeOut]:
    """The facts in the order of a column; those without a value come last in either direction."""
    value = FACT_COLUMNS[sort.removeprefix("-")][1]
    known = [edge for edge in edges if value(edge) is not None]
    known.sort(key=value, reverse=sort.startswith("-"))
    return known + [edge for edge in edges if value(edge) is None]


def _heading(view: View, name: str) -> dict[str, Any]:
    """A heading of the facts; its link sorts by it, numbers from the largest at first."""
    sort = view.asked.sort
    chosen = sort.removeprefix("-") == name
    up = not sort.startswith("-") if chosen else name not in _WORDS
    longer = replace(view.asked, sort=f"-{name}" if up else name)
    return {
        "name": name,
        "title": FACT_COLUMNS[name][0],
        "link": view.address("facts", longer.query()),
        "order": ("descending" if sort.startswith("-") else "ascending") if chosen else "",
    }


def fact_values(view: View) -> dict[str, Any]:
    """Values of `edit_facts.html`: all facts of the edit graph, and those that leak most."""
    graph = graph_of(view.db, view.score, view.measure, view.rows)
    edges = sorted_facts(graph.edges, view.asked.sort)
    leaks = metrics.leakage_rows(view.db, view.score, view.measure)
    return view.values("facts") | {
        "headings": [_heading(view, name) for name in FACT_COLUMNS],
        "edges": [(edge, _moved(edge)) for edge in edges[: view.asked.show]],
        "n_edges": len(edges),
        "leaks": leakage_table(leaks[:LISTED], lambda fact: fact_address(view, fact.id)),
        "n_leaks": len(leaks),
        "more": _more(view, "facts", len(edges)),
    }


def next_values(view: View, asked: CutAsked, browser: str) -> dict[str, Any]:
    """Values of `edit_next.html`: the leak cut with its form."""
    names = sorted({name for row in view.rows for name in row.entities})
    cut = cut_values(view.db, view.score, view.measure, asked, browser)
    if cut["cut"] is not None:
        edit = view.score.edit
        whole = words.facts_table(
            cut["cut"].facts, lambda fact: fact_address(view, f"{edit}|{fact.id}")
        )
        cut["cut_facts"] = replace(whole, rows=whole.rows[:LISTED])
        cut["cut_more"] = replace(whole, rows=whole.rows[LISTED:], title="Further facts", note="")
    further = {"cut_names": names, "listed": LISTED, "steps": next_steps(view.score, view.measure)}
    return view.values("next") | cut | further


def fact_address(view: View, fact: str) -> str:
    """Return the address of the map with this fact chosen."""
    return f"{view.path}?{urlencode({'fact': fact, 'measure': view.measure})}"


IMPLIED_FIRST = 10
"""Conclusions shown at first; the others unfold."""
MIXED = 10
"""Chains over conclusions that are shown; REST and the command line list all of them."""

SIDES = {
    "lost": "it no longer follows",
    "due": "it follows now",
    "kept": "it follows as before",
}


def rule_values(view: View) -> dict[str, Any]:
    """Values of `edit_rules.html`; `implied` is None for a data set without kept rules.

    `recovery` summarises Omega in one sentence.
    """
    db, score, measure = view.db, view.score, view.measure
    rules = kept_rules(db, score.dataset)
    if not rules:
        return view.values("rules") | {"implied": None}
    recovered = omega(db, score, measure, rules)
    return view.values("rules") | {
        "implied": implications(db, score, measure, rules),
        "omega": recovered,
        "mixed": mixed(db, score, measure, rules, Chosen(surviving=True, limit=MIXED)),
        "example": rules[0].rule.text(),
        "recovery": _recovery(score, {kind: recovered.at(kind).surviving for kind in KINDS}),
        "ways": ways_table(recovered, score.target_true),
        "sides": SIDES,
        "good": GOOD,
        "verdict_meanings": MEANINGS,
        "implied_first": IMPLIED_FIRST,
    }


def _recovery(score: Score, surviving: dict[Any, int]) -> str:
    alive = [WAYS[kind] for kind in KINDS if surviving[kind]]
    if not alive:
        return f"{score.target_true} is not recovered: neither by chains nor by rules."
    listed = alive[0] if len(alive) == 1 else f"{', by '.join(alive[:-1])}, and by {alive[-1]}"
    return f"{score.target_true} is still recovered by {listed}."


# Commands that repeat a score: `thinkeval` on the command line, `curl` over REST.


def commands(score: Score, base: str) -> list[tuple[str, str]]:
    """(label, command) pairs; `base` is the service's address, without a slash at its end."""
    if "comparison" in score.provenance:
        return _of_comparison(score, base)
    body = posted(score)
    # A single quote would end the shell's quoting, so it is written as JSON escapes it.
    text = json.dumps(body, ensure_ascii=False).replace("'", "\\u0027")
    return [
        ("Score it again, on the command line", _command(body)),
        ("Its chains, on the command line", f"thinkeval results chains {score.edit} --surviving"),
        (
            "Score it again, over REST (answers at once: it is stored)",
            f"curl -s -X POST {base}/v1/edits -H 'Content-Type: application/json' -d '{text}'",
        ),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}"),
    ]


def _of_comparison(score: Score, base: str) -> list[tuple[str, str]]:
    """The commands of an edit that a comparison of two states scored."""
    states = score.provenance["comparison"]
    specs = [state.get("spec") or state["word"] for state in (states["before"], states["after"])]
    words = ["thinkeval", "compare", *specs]
    words += ["--graph", score.dataset]
    words += ["--forget", _fact(score)] if score.kind == "forget" else ["--rewrite", score.rewrite]
    return [
        ("Compare the states again, on the command line", shlex.join(words)),
        ("Its chains, on the command line", f"thinkeval results chains {score.edit} --surviving"),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}"),
    ]


def _fact(score: Score) -> str:
    return f"{score.subject}|{score.relation}|{score.target_true}"


def _command(body: dict[str, Any]) -> str:
    rewrite = body["rewrite"]
    words = ["thinkeval", "score"]
    if isinstance(rewrite, str):
        words.append(rewrite)
    elif "target_new" not in rewrite:
        fact = "|".join(rewrite[name] for name in ("subject", "relation", "target_true"))
        words += ["--forget", fact]
    else:
        for key, value in rewrite.items():
            words += [f"--{key.replace('_', '-')}", value]
    given = {name: value for name, value in body.items() if name != "rewrite"}
    return shlex.join([*words, *words_of(EditOptions, given)])


# Values of the tabs on how an edit was asked, Neo4j, and export: commands, files, provenance.

FILES = (("leakage", "leakage map"), ("chain", "first surviving chain"))

_PROVENANCE = (
    "model", "method", "hparams_digest", "covariance_corpus", "graph_digest", "probe", "seed",
    "strength", "versions", "created_at",
)  # fmt: skip


def asked_values(view: View) -> dict[str, Any]:
    """Values of `edit_asked.html`: every number, the request, and the inputs of the numbers."""
    found = view.score.provenance
    way = way_of(found)
    return (
        view.values("asked")
        | numbers(view)
        | {
            "provenance": [
                *([("chat", way)] if way else []),
                *((key, _plain(found[key])) for key in _PROVENANCE if found.get(key)),
            ],
            "whole": json.dumps(found, indent=1, ensure_ascii=False, default=str),
        }
    )  # fmt: skip


def neo4j_values(view: View, browser: str, base: str, login: Login) -> dict[str, Any]:
    """Values of `edit_neo4j.html`.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
        base: address of the service.
        login: the login that Browser asks for the first time.
    """
    links = question_links(browser, view.score, view.measure) if browser else []
    return view.values("neo4j") | {
        "questions": QUESTIONS,
        "links": {link.name: link.url for link in links},
        "login": login,
        "style": f":style {base}/neo4j/thinkeval.grass",
        "guide": guide_command(base, view.score.edit),
    }


def file_values(view: View) -> dict[str, Any]:
    """Values of `edit_file.html`: an edit as one file, with its style and without a script."""
    edges = graph_of(view.db, view.score, view.measure, view.rows).edges
    styles = "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)
    return (
        asked_values(view)
        | map_values(view)
        | {
            "figures": figures(view),
            "tree": chain_tree(view.rows),
            "chains": view.rows,
            "edges": sorted(edges, key=lambda edge: (-edge.surviving, -edge.chains)),
            "styles": Markup(styles),
        }
    )


STYLES = ("page.css", "parts.css", "edit.css")
"""Style sheets of an edit's pages."""


def export_values(view: View, base: str) -> dict[str, Any]:
    """Values of `edit_export.html`."""
    return view.values("export") | {
        "others": _others(view.db, view.score),
        "figures": FILES,
        "commands": commands(view.score, base),
    }


def _others(db: Database, score: Score) -> list[rows.PageEditRow]:
    """Newest scored edits of the same rewrite, one per method and model."""
    found = db.read(
        rows.PageEditRow,
        "edits/page_edits",
        dataset=score.dataset,
        rewrite=score.rewrite,
        status="succeeded",
        limit=100,
    )
    newest: dict[tuple[str, str], rows.PageEditRow] = {}
    for row in found:
        if row.id != score.edit:
            newest.setdefault((row.method, row.model), row)
    return sorted(newest.values(), key=lambda row: (row.model != score.model, row.method))[:20]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items() if each is not None)
    return str(value)


# Addresses of a scored edit in the web UI.

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=500)]


def _asked(
    measure: Taken = None,
    through: Annotated[list[str] | None, Query(max_length=20)] = None,
    first: Text = "",
    fact: Text = "",
    chain: Annotated[int | None, Query(ge=1)] = None,
    steps: Annotated[list[Length] | None, Query(max_length=5)] = None,
    min_ratio: Annotated[float, Query(ge=0, le=1)] = 0.0,
    surviving: bool = False,
    draw: Annotated[int, Query(ge=1, le=1000)] = DRAWN,
    show: Annotated[int, Query(ge=1, le=100_000)] = LISTED,
    sort: Annotated[str, Query(pattern=f"^-?({'|'.join(FACT_COLUMNS)})$")] = MOVED,
) -> Asked:
    """The parameters of an address; without a length chains of all lengths are shown."""
    picked = Selection(
        through=tuple(name for name in through or () if name),
        first=first or None,
        fact=fact or None,
        chain=chain,
        steps=tuple(steps or ()),
        min_ratio=min_ratio,
        surviving=surviving,
    )
    return Asked(measure, picked, draw, show, sort)


WhichView = Annotated[Asked, Depends(_asked)]


def _cut_asked(
    leak: Annotated[float, Query(ge=0, lt=1)] = 0.1,
    keys: KeyKind = "auto",
    lock: Annotated[str, Query(max_length=2000)] = "",
) -> CutAsked:
    """Options of the leak cut from the address."""
    return CutAsked(leak, keys, lock)


WhichCut = Annotated[CutAsked, Depends(_cut_asked)]


def _view(edit: EditId, db: Db, asked: WhichView) -> View:
    return view(db, record.get_score(db, edit), asked)


Viewed = Annotated[View, Depends(_view)]


@router.get("/edits/{edit}")
def one_edit(edit: EditId, request: Request, db: Db, here: AppState, asked: WhichView) -> Response:
    """An edit, by any id that it has had: its progress until it is finished, then its result."""
    row = record.get_edit(db, edit)
    if row.status != "succeeded" or not row.score:
        live = row.status not in ENDED
        return page(request, "progress.html", here="", edit=row, live=live)
    if row.id != edit:
        return RedirectResponse(str(request.url.replace(path=f"/edits/{row.id}")), 307)
    shown = view(db, record.get_score(db, row.id), asked)
    template = "edit_appended.html" if shown.score.append else "edit_overview.html"
    values = overview_values(shown, here.connection.browser)
    return page(request, template, here="", **values)


@router.get("/edits/{edit}/map")
def leakage_map(request: Request, shown: Viewed, here: AppState) -> Response:
    """The leakage map alone, with which a script replaces the one shown."""
    values = overview_values(shown, here.connection.browser)
    return page(request, "_edit_map.html", **values)


@router.get("/edits/{edit}/chains")
def chains(request: Request, shown: Viewed, here: AppState) -> Response:
    """The chains of an edit, by the filter of the address."""
    values = chain_values(shown, here.connection.browser)
    return page(request, "edit_chains.html", here="", **values)


@router.get("/edits/{edit}/facts")
def facts(request: Request, shown: Viewed) -> Response:
    """The facts of an edit's graph."""
    return page(request, "edit_facts.html", here="", **fact_values(shown))


@router.get("/edits/{edit}/next")
def what_else(request: Request, shown: Viewed, cut: WhichCut, here: AppState) -> Response:
    """Show the leak cut: further facts to edit."""
    values = next_values(shown, cut, here.connection.browser)
    return page(request, "edit_next.html", here="", **values)


@router.get("/edits/{edit}/asked")
def how_asked(request: Request, shown: Viewed) -> Response:
    """Show every number, the request, and the inputs of the numbers."""
    return page(request, "edit_asked.html", here="", **asked_values(shown))


@router.get("/edits/{edit}/rules")
def by_rules(request: Request, shown: Viewed) -> Response:
    """Show the conclusions of the data set's rules after the edit."""
    return page(request, "edit_rules.html", here="", **rule_values(shown))


@router.get("/edits/{edit}/neo4j")
def in_neo4j(request: Request, shown: Viewed, here: AppState) -> Response:
    """Queries in Neo4j Browser."""
    base = str(request.base_url).rstrip("/")
    values = neo4j_values(shown, here.connection.browser, base, login(here.settings))
    return page(request, "edit_neo4j.html", here="", **values)


@router.get("/edits/{edit}/file")
def as_file(shown: Viewed) -> Response:
    """Return the edit as one HTML file that needs neither a script nor a network."""
    text = render("edit_file.html", **file_values(shown))
    name = quote(f"{shown.score.edit}.html", safe="")
    disposition = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(text, media_type="text/html", headers=HEADERS | disposition)


@router.get("/edits/{edit}/export")
def exported(request: Request, shown: Viewed) -> Response:
    """Figures, JSON and commands."""
    base = str(request.base_url).rstrip("/")
    return page(request, "edit_export.html", here="", **export_values(shown, base))
