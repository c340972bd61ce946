"""Tables of forms of asking: what an unedited model answers in each, and what an edit changes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...cypher.rows.forms import RawAnswer
from ..base.formatting import UNDEFINED, cell, number, pluralize, signed, with_interval
from ..base.statistics import wilson
from ..models.edit import Score
from ..models.forms import FormAccuracy, FormOut, MethodForm, weakest
from .comparison import family_of, one_protocol
from .formats import Column, Table, methods_as_columns

if TYPE_CHECKING:
    from .paired import Difference


ACCURACY_RULES = (
    "Accuracy among the options over the facts whose cloze has .2 or more, with its 95 % interval;"
    " a form is measurable if the interval lies above chance, and above its control, over 20 facts"
    " or more. Cost: tokens of"
    " a fact divided by those of the cloze. Only figures of one protocol id are comparable."
)


def accuracy_table(found: Sequence[FormAccuracy]) -> Table[FormAccuracy]:
    """One row a form: the accuracy of the unedited model against chance."""
    columns: list[Column[FormAccuracy]] = [
        Column("form", lambda row: row.form, whole=True),
        Column("n", lambda row: row.n),
        Column("accuracy", _accuracy),
        Column("chance", lambda row: row.chance, number),
        Column("P(right)", lambda row: row.p, number),
        Column("measurable", status, whole=False),
        Column("further", _further, optional=3),
        Column("cost", lambda row: row.tokens, times, optional=1),
        Column("protocol", lambda row: row.protocol, whole=True, optional=2),
    ]  # fmt: skip
    values: list[Column[FormAccuracy]] = [
        Column(name, lambda row, name=name: getattr(row, name), cell)
        for name in FormAccuracy.model_fields
        if name != "left_out"
    ]
    title = "Forms of asking: the unedited model"
    return Table("forms", title, columns, found, values=values, rules=ACCURACY_RULES)


def times(value: float | None) -> str:
    """A factor with one decimal."""
    return UNDEFINED if value is None else f"{value:.1f}"


def _further(row: FormAccuracy) -> str:
    if row.further is None:
        return UNDEFINED
    found = f"{row.further_is}: {number(row.further)}"
    if row.length is not None:
        found += f"; {row.undecided} undecided; {row.length:.0f} tokens"
    return found


def _accuracy(row: FormAccuracy) -> str:
    if row.accuracy is None:
        return UNDEFINED
    return with_interval(row.accuracy, row.low, row.high)


def status(row: FormAccuracy) -> str:
    """Measurable or why not; of a control, and of a form without accuracy, that it is one."""
    if row.n == 0 and row.left_out:
        reason = max(row.left_out, key=lambda text: row.left_out[text])
        return f"not asked: {reason}"
    if row.is_control:
        return "control"
    if row.reason:
        return row.reason
    if row.accuracy is None:
        return "read beside its unedited value"
    found = "yes" if row.by_probability else "yes, by rank"
    if row.least is not None and row.further is not None:
        found += f"; {row.further_is} {number(row.further)}"
    return found


def forms_table(found: Sequence[FormOut]) -> Table[FormOut]:
    """One row a form: the edited fact before and after the edit."""

    def moved(before: str, after: str) -> Callable[[FormOut], str]:
        return lambda row: _arrow(getattr(row, before), getattr(row, after))

    columns: list[Column[FormOut]] = [
        Column("form", lambda row: row.form, whole=True),
        Column("n", lambda row: row.n),
        Column("P(new)", moved("p_new_pre", "p_new")),
        Column("P(old)", moved("p_old_pre", "p_old"), optional=2),
        Column("margin", moved("margin_pre", "margin")),
        Column("new wins", _wins),
        Column("others right", _kept, optional=3),
        Column("unedited", lambda row: _accuracy(row.unedited), optional=1),
        Column("note", remark),
    ]
    values: list[Column[FormOut]] = [
        Column(name, lambda row, name=name: getattr(row, name), cell)
        for name in FormOut.model_fields
        if name not in ("unedited", "answers")
    ]
    note = ""
    if (least := weakest(found)) is not None:
        note = f"Weakest measurable form: {least.form}, margin {signed(least.margin)}."
    return Table("forms", "Asked in other ways", columns, found, note, values, rules=FORMS_RULES)


FORMS_RULES = (
    "Before → after the edit. Margin: ln P(new) − ln P(old). New wins: the new object is the"
    " likeliest option. Others right: facts of the subject and on chains whose object is the"
    " likeliest option. Unedited: accuracy of the unedited model in the form; without one above"
    " chance the form has no efficacy."
)


def answers_table(found: Sequence[FormOut]) -> Table[tuple[str, RawAnswer]] | None:
    """Written answers before and after an edit, one row each; None where there are none."""
    rows = [(form.form, answer) for form in found for answer in form.answers]
    if not rows:
        return None
    columns: list[Column[tuple[str, RawAnswer]]] = [
        Column("form", lambda row: row[0], whole=True),
        Column("asked about", lambda row: row[1].subject),
        Column("before", lambda row: row[1].before),
        Column("after", lambda row: row[1].after),
    ]
    return Table("answers", "Answers in the model's own words", columns, rows)


def _arrow(before: float | None, after: float | None) -> str:
    if before is None and after is None:
        return UNDEFINED
    return f"{number(before)} → {number(after)}"


def _wins(row: FormOut) -> str:
    if row.wins is None:
        return UNDEFINED
    return with_interval(row.wins, row.low, row.high)


def _kept(row: FormOut) -> str:
    return f"{_arrow(row.right_pre, row.right)} ({row.facts})" if row.facts else UNDEFINED


def remark(row: FormOut) -> str:
    """Why a form has no efficacy; that it is a control or by rank; else its further number."""
    if row.reason:
        return row.reason
    if row.answers and row.wins is None:
        return "undecided"
    parts = ["control"] * row.unedited.is_control
    parts += ["by rank"] * (not row.unedited.by_probability)
    if row.further_is and row.further is not None:
        parts.append(f"{row.further_is}: {_arrow(row.further_pre, row.further)}")
    return "; ".join(parts)


# Forms over the rewrites of several edits: one row a method and form.
#
# Figures of two protocol ids are not comparable, so a form has the protocol of most edits, and the
# others are left out by name.


def by_method(
    scores: Sequence[Score], families: Mapping[str, str]
) -> tuple[list[MethodForm], list[str]]:
    """The forms of each method over its rewrites, and sentences on the edits that are left out.

    Args:
        scores: over the same rewrites for all methods (`service.reports.comparison`).
        families: {edit: family of its rewrite}.
    """
    taken, refused = _taken(scores)
    groups: dict[tuple[str, str, str], list[tuple[FormOut, str]]] = defaultdict(list)
    order = list(dict.fromkeys(form for score in scores for form in _named(score)))
    for score in scores:
        for name, form in _named(score).items():
            if form.protocol == taken[score.model, name]:
                asked = form, family_of(score, families)
                groups[score.model, score.method, name].append(asked)
    pairs = dict.fromkeys((score.model, score.method) for score in scores)
    return [
        _method_form(*pair, groups[*pair, name])
        for pair in pairs
        for name in order
        if groups[*pair, name]
    ], refused


def _taken(scores: Iterable[Score]) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """The protocol id of each model and form, and sentences on the edits of others."""
    return one_protocol(
        ((score.model, name), form.protocol)
        for score in scores
        for name, form in _named(score).items()
    )


def _named(score: Score) -> dict[str, FormOut]:
    return {form.form: form for form in score.forms}


def _named(score: Score) -> dict[str, FormOut]:
    return {form.form: form for form in score.forms}


def _method_form(model: str, method: str, asked: Sequence[tuple[FormOut, str]]) -> MethodForm:
    forms = [form for form, _ in asked]
    won = [(form.wins, family) for form, family in asked if form.wins is not None]
    low, high = over_families(won)
    reasons = Counter(form.reason for form in forms if form.reason)
    facts = sum(form.facts for form in forms)

    def mean(name: str) -> float | None:
        values = [getattr(form, name) for form in forms if form.wins is not None]
        return fmean(values) if values and None not in values else None

    def of_facts(name: str) -> float | None:
        known = [form for form in forms if form.facts and getattr(form, name) is not None]
        n = sum(form.facts for form in known)
        return sum(getattr(form, name) * form.facts for form in known) / n if n else None

    return MethodForm(
        model=model,
        method=method,
        form=forms[0].form,
        protocol=forms[0].protocol,
        is_control=forms[0].unedited.is_control,
        rewrites=len(won),
        families=len({family for _, family in won}),
        asked=len(forms),
        wins_pre=mean("wins_pre"),
        wins=mean("wins"),
        low=low,
        high=high,
        p_new=mean("p_new"),
        p_old=mean("p_old"),
        margin=mean("margin"),
        facts=facts,
        right_pre=of_facts("right_pre"),
        right=of_facts("right"),
        reason=None if won else reasons.most_common(1)[0][0] if reasons else "undecided",
    )


def over_families(won: Sequence[tuple[float, str]]) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean fraction: cluster t, and Wilson where all have one value."""
    from ..base import inference  # numpy; not for `--help`

    names = sorted({family for _, family in won})
    if len(names) < 2:
        return None, None
    values = [value for value, _ in won]
    if min(values) == max(values):
        return wilson(values[0], len(names))
    import numpy as np

    places = [names.index(family) for _, family in won]
    _, _, (low, high) = inference.cluster_t(
        np.bincount(places, weights=values), np.bincount(places).astype(float)
    )
    return max(low, 0.0), min(high, 1.0)


def methods_table(
    found: Sequence[MethodForm],
    refused: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
) -> Table[list[MethodForm]] | None:
    """One row a form and model, one column a method; None where no edit was asked in forms.

    Args:
        names: headers of methods; default: the methods themselves.
    """
    if not found:
        return None
    models, methods, rows = methods_as_columns(found, lambda row: row.form, _wins_of, names)
    columns: list[Column[list[MethodForm]]] = [
        *models,
        Column("form", lambda row: row[0].form + " (control)" * row[0].is_control, whole=True),
        Column("before", lambda row: row[0].wins_pre, number),
        *methods,
        Column("rewrites", _rewrites_of),
    ]
    note = " ".join(refused)
    return Table("forms", "Asked in other ways", columns, rows, note, rules=METHODS_RULES)


def tables_over_edits(
    scores: Sequence[Score], families: Mapping[str, str], names: Mapping[str, str] | None = None
) -> list[Table[Any]]:
    """The forms of all methods, and their paired differences; empty where no form was asked.

    Args:
        families: {edit: family of its rewrite}.
        names: headers of methods; default: the methods themselves.
    """
    both = (
        methods_table(*by_method(scores, families), names),
        paired_table(scores, families, names),
    )
    return [each for each in both if each is not None]


METHODS_RULES = (
    "Fraction of rewrites in which the new object is the likeliest option in the form, with its"
    " 95 % interval over families of rewrites (cluster t; Wilson over families where all agree);"
    " in round brackets the mean margin, ln P(new) − ln P(old). A dash: the unedited model is not"
    " above chance there (`thinkeval probe --forms` says why)."
)


def _wins_of(row: MethodForm | None) -> str:
    if row is None or row.wins is None:
        return UNDEFINED
    margin = "" if row.margin is None or math.isinf(row.margin) else f" ({row.margin:+.1f})"
    return with_interval(row.wins, row.low, row.high) + margin


def _rewrites_of(row: Sequence[MethodForm]) -> str:
    return ", ".join(dict.fromkeys(f"{each.rewrites} of {each.asked}" for each in row))


# Is the difference real? Each method against the first one of its model, in each form: whether the
# new object wins, over the rewrites that both have. p is adjusted over all methods and forms.


def paired_table(
    scores: Sequence[Score], families: Mapping[str, str], names: Mapping[str, str] | None = None
) -> Table[Difference] | None:
    """The paired differences of methods in forms; None where there is no pair.

    Args:
        families: {edit: family of its rewrite}.
        names: headers of methods; default: the methods themselves.
    """
    from . import paired  # numpy; not for `--help`

    found = paired_forms(scores, families)
    if not found:
        return None
    first = " and ".join(dict.fromkeys((names or {}).get(row.second, row.second) for row in found))
    rules = (
        "The fraction of rewrites in which the new object wins, minus that of"
        f" {first}, over the rewrites that both have; 95 % intervals over families of them (cluster"
        " t). p: exchange of the two in whole families; adjusted by Holm over"
        f" {pluralize(found[0].comparisons, 'comparison')}. Flips: rewrites that only the one and"
        " only the other wins (McNemar)."
    )
    columns = [
        replace(column, get=lambda row: (names or {}).get(row.first, row.first))
        if column.header == "method"
        else replace(column, header="form")
        if column.header == "metric"
        else column
        for column in paired.COLUMNS
    ]
    title = f"Is the difference real? Each form, minus {first}"
    return Table("forms-paired", title, columns, found, rules=rules)


def paired_forms(scores: Sequence[Score], families: Mapping[str, str]) -> list[Difference]:
    """The differences, by method and form, with p adjusted over all of them."""
    from . import paired

    taken, _ = _taken(scores)
    won: dict[tuple[str, str, str], dict[str, tuple[float, str]]] = defaultdict(dict)
    first: dict[str, str] = {}
    for score in scores:
        first.setdefault(score.model, score.method)
        for name, form in _named(score).items():
            if form.wins is None or form.unedited.is_control:
                continue
            if form.protocol == taken[score.model, name]:
                own = won[score.model, score.method, name]
                own[score.rewrite] = form.wins, family_of(score, families)
    rows = [
        _paired(method, first[model], name, own, won[model, first[model], name])
        for (model, method, name), own in list(won.items())
        if method != first[model] and own.keys() & won[model, first[model], name].keys()
    ]
    return paired.adjusted(rows)


def _paired(
    method: str,
    first: str,
    form: str,
    own: Mapping[str, tuple[float, str]],
    others: Mapping[str, tuple[float, str]],
) -> Difference:
    import numpy as np

    from ..base import inference
    from . import paired

    both = sorted(own.keys() & others.keys())
    gaps = np.array([own[rewrite][0] - others[rewrite][0] for rewrite in both])
    names = sorted({own[rewrite][1] for rewrite in both})
    places = [names.index(own[rewrite][1]) for rewrite in both]
    sums = np.bincount(places, weights=gaps)
    mean, error, bounds = inference.cluster_t(sums, np.bincount(places).astype(float))
    good = [(own[rewrite][0] >= 0.5, others[rewrite][0] >= 0.5) for rewrite in both]
    gained, lost = good.count((True, False)), good.count((False, True))
    return paired.Difference(
        method, first, form, None, mean,
        bounds if len(names) >= paired.FEWEST else None,
        n=len(both),
        families=len(names),
        p=inference.sign_flip(sums),
        detectable=inference.POWERED * error if math.isfinite(error) else None,
        flips=paired.Flips(gained, lost, inference.mcnemar(gained, lost)),
    )  # fmt: skip
