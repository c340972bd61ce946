"""One table over several edits, one row a method, in the shape of ThinkEval's Table 4.

A report is built from stored scores only; it never touches a model. Efficacy is always beside IFR,
because an edit that installs nothing leaks everything and preserves everything; subject retention
is, because an edit that changes all facts about the subject leaks little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...cypher.metric_options import interval_titles
from ..base.errors import NothingStoredError
from ..base.formatting import UNDEFINED, least, pluralize, with_interval
from ..models.edit import MEASURE_NAMES, Measure, Score
from ..scoring.generation import MEASURE as TEXT
from .comparison import family_of
from .formats import Column, Table, frame_table
from .verdict import DID_NOT_TAKE, kept, place_of_method

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


STEPS = (1, 2, 3, 4, 5)
ABOUT = (
    "edit", "dataset", "rewrite", "model", "method", "measure", "protocol", "seed", "weights",
    "hparams",
)  # fmt: skip
"""The columns of `scores_frame` before the metrics; all of them where there is no score."""


OF_FORM = ("wins", "margin", "p_new", "n", "protocol")
"""The columns of each form of asking."""


def scores_frame(scores: Sequence[Score], measure: str) -> pd.DataFrame:
    """Return a frame of one row an edit, for notebooks. Missing metrics are NaN, never 0.

    Columns: edit, dataset, rewrite, model, method, measure, protocol (id), seed, weights and
    hparams (digests of the unedited weights and of the hyperparameters), then each metric (`ifr`,
    `efficacy`, `ifr_by_steps_<n>` ...) with `<metric>.n`, its number of items, and, where a 95 %
    interval is stored, `<metric>.low` and `<metric>.high`. Values of free texts (`fluency`,
    `consistency`) and side effects, which are by likelihood, are beside every measure: `kl`,
    `perplexity_ratio`, `update_norm`, `known_kept` of `known.n` facts (`_weakened`, `_replaced`,
    `_lost`), `change_far`, and `subject_kept` of `subject.n` facts (`_weakened`, `_replaced`,
    `_followed`, which are replaced too, `_lost`). Of each form, such as `question/3-shot`,
    `<form>.wins`, `.margin`, `.p_new`, `.n` and `.protocol`.
    """
    import pandas as pd

    rows = []
    for score in scores:
        row: dict[str, object] = {
            "edit": score.edit,
            "dataset": score.dataset,
            "rewrite": score.rewrite,
            "model": score.model,
            "method": score.method,
            "measure": measure,
            "protocol": score.protocols.get(measure),
            "seed": score.provenance.get("seed"),
            "weights": (score.provenance.get("model") or {}).get("digest"),
            "hparams": score.provenance.get("hparams_digest"),
        }
        for value in score.values:
            if value.measure not in (measure, TEXT):
                continue
            name = value.metric if value.step is None else f"{value.metric}_{value.step}"
            row[name], row[f"{name}.n"] = value.value, value.n
            if value.low is not None and value.high is not None:
                row[f"{name}.low"], row[f"{name}.high"] = value.low, value.high
        row |= _side_effects(score)
        for form in score.forms:
            row |= {f"{form.form}.{name}": getattr(form, name) for name in OF_FORM}
        rows.append(row)
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(ABOUT))


def _side_effects(score: Score) -> dict[str, float | None]:
    """Columns of the side effects that were measured."""
    effects, subject = score.side_effects, score.about_subject
    row: dict[str, float | None] = {}
    if effects.kl is not None:
        row |= {"kl": effects.kl, "kl.n": effects.texts}
        row |= {"kl.low": effects.kl_low, "kl.high": effects.kl_high}
        row["perplexity_ratio"] = effects.perplexity_ratio
    if effects.update_norm is not None:
        row["update_norm"] = effects.update_norm
    if effects.drift is not None:
        total, far = effects.drift.total, effects.drift.far
        row |= {"known_kept": total.kept, "known_weakened": total.weakened}
        row |= {"known_replaced": total.replaced, "known_lost": total.lost, "known.n": total.n}
        if far is not None:
            row |= {"change_far": far.median_change, "change_far.n": far.n}
    if subject is not None:
        row |= {"subject_kept": subject.kept, "subject_weakened": subject.weakened}
        row |= {"subject_replaced": subject.replaced, "subject_followed": subject.followed}
        row["subject_lost"] = subject.lost
        row["subject.n"] = subject.n
    return row


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, JSON-able: undefined is None."""
    values = table.astype(object)
    # None is a value of dtype object, which the types of pandas lack.
    # pyrefly: ignore[bad-argument-type]
    return rows_of(values.where(values.notna(), None))


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, whose columns are called by texts."""
    return cast("list[dict[str, Any]]", table.to_dict("records"))


def _ifr_by_steps(scores: Iterable[Score], measure: str) -> dict[int, tuple[float, int]]:
    """{n: (n-step IFR over all chains of all edits together, chains)}.

    Within one length the weights cancel: the mean of R'/R over the chains that count.
    """
    total: dict[int, float] = defaultdict(float)
    chains: dict[int, int] = defaultdict(int)
    for score in scores:
        for step, value in score.by_step("ifr_by_steps", measure).items():
            total[step] += (value.value or 0.0) * value.n
            chains[step] += value.n
    return {n: (total[n] / chains[n] if chains[n] else 0.0, chains[n]) for n in STEPS}


def _mean(scores: Sequence[Score], metric: str, measure: str) -> tuple[float, int]:
    """Mean over edits that have the metric with n > 0, and how many those are."""
    taken = [v for s in scores if (v := s.get(metric, measure)) is not None and v.n > 0]
    values = [v.value for v in taken if v.value is not None]
    return (sum(values) / len(values), len(values)) if values else (math.nan, 0)


def _bounds(
    scores: Sequence[Score], measure: str, numbers: np.ndarray, families: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    """95 % intervals: over families of rewrites; of a single edit that of its sampled answers."""
    from .pooling import interval_over_edits

    if len(scores) > 1:
        return interval_over_edits(numbers, [family_of(s, families) for s in scores])
    stored = {metric: scores[0].get(metric, measure) for metric in interval_titles()}
    return {
        metric: (v.low, v.high)
        for metric, v in stored.items()
        if v is not None and v.low is not None and v.high is not None
    }


def n_families(scores: Iterable[Score], families: Mapping[str, str] | None) -> int:
    """Count the families of the rewrites of these edits."""
    return len({family_of(score, families or {}) for score in scores})


def method_table(
    scores: Sequence[Score], measure: str, families: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """One row a (model, method): IFR overall and by steps, Preservation, efficacy, retention.

    `IFR` pools all chains of all rewrites (Definition 3 on the union, as the paper's table does),
    and so does `IFR beyond subject`; `IFR mean` is the mean over rewrites with its standard
    deviation. `low` and `high` bound the 95 % interval over families of rewrites (bootstrap), or of
    the sampled answers with one rewrite; NaN without an interval. `rewrites`, `families`
    and `chains` count the items of the numbers, `n ret.` over how many rewrites subject
    retention, which may be undefined, was.

    Args:
        scores: over the same rewrites for all methods (`service.reports.comparison`).
        families: {edit: family of its rewrite}; by default each rewrite is one.
    """
    import pandas as pd

    from .pooling import pooled, terms

    if not scores:
        raise NothingStoredError(
            "There is no scored edit to report on.",
            remedy="Score one with `thinkeval score`; appended answers have --kind append.",
        )
    groups = _by_method(scores)
    rows = []
    for (model, method), group in groups.items():
        numbers, by_steps = terms(group, measure), _ifr_by_steps(group, measure)
        efficacy, ifr, preservation, retention, beyond = pooled(numbers)
        bounds = _bounds(group, measure, numbers, families or {})
        mean, spread = _mean_and_sd(group, "ifr", measure)
        generalization, n_generalization = _mean(group, "generalization", measure)
        diverged = [kl for score in group if (kl := score.side_effects.kl) is not None]
        rows.append(
            {
                "Model": model,
                "Method": method,
                "rewrites": len(group),
                "families": n_families(group, families),
                "Efficacy": efficacy,
                "Generalization": generalization,
                "IFR": ifr,
                **{f"{n}-step": by_steps[n][0] if by_steps[n][1] else math.nan for n in STEPS},
                "Preservation": preservation,
                "Subject retention": retention,
                "IFR beyond subject": beyond,
                "IFR mean": mean,
                "IFR sd": spread,
                "IFR beyond mean": _mean_and_sd(group, "ifr_beyond_subject", measure)[0],
                **{
                    f"{title} {end}": bounds.get(metric, (math.nan, math.nan))[i]
                    for metric, title in interval_titles().items()
                    for i, end in enumerate(("low", "high"))
                },
                "KL": sum(diverged) / len(diverged) if diverged else math.nan,
                "chains": sum(n for _, n in by_steps.values()),
                "n gen.": n_generalization,
                "n ret.": _mean(group, "subject_retention", measure)[1],
                "n KL": len(diverged),
            }
        )
    return pd.DataFrame(rows)


PAPER = {
    "Method": "Method",
    "rewrites": "n",
    "Efficacy": "Efficacy",
    "IFR": "IFR",
    "Preservation": "Preservation",
    "Subject retention": "Subject ret.",
    "KL": "KL",
}
"""The columns of `method_table` that a paper's table has, with their headers there."""


def methods(frame: pd.DataFrame, note: str) -> Table[Mapping[str, Any]]:
    """The table of methods: all columns for programs, those of `PAPER` with intervals in LaTeX.

    Args:
        frame: rows of `method_table`.
        note: their caption.
    """
    found = frame_table(frame, note)
    models = list(dict.fromkeys(str(row["Model"]) for row in found.rows))
    shown = {"Model": "Model"} | PAPER if len(models) > 1 else PAPER
    columns = [Column(header, partial(_for_paper, name)) for name, header in shown.items()]
    fewer = [
        f"{row['Method']}: subject retention of {row['n ret.']}, KL of {row['n KL']}"
        for row in found.rows
        if {row["n ret."], row["n KL"]} != {row["rewrites"]}
    ]
    said = f" On {', '.join(models)}; n: rewrites; KL: in nats a token, on the model's own texts."
    if fewer:
        said += f" Of fewer rewrites: {'; '.join(fewer)}."
    return replace(found, name="methods", paper=columns, note=note + said)


def _for_paper(name: str, row: Mapping[str, Any]) -> object:
    """A value of `method_table` with its interval, if it has one, in a second line."""
    if name == "KL":
        return UNDEFINED if math.isnan(row[name]) else least(row[name])
    low, high = row.get(f"{name} low"), row.get(f"{name} high")
    return with_interval(row[name], low, high).replace(" [", "\n[", 1)


def by_rank(
    frame: pd.DataFrame, scores: Sequence[Score], measure: Measure, *, ranked: bool = True
) -> pd.DataFrame:
    """The rows of `method_table` by model, and by `service.reports.verdict.rank` within it.

    Args:
        scores: those that the rows are taken over.
        ranked: False where methods were scored on different rewrites: then by their names.
    """
    groups = _by_method(scores)

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        name = row["Model"], row["Method"]
        place = place_of_method(groups[name], measure, row["IFR"]) if ranked else ()
        return row["Model"], place, row["Method"]

    order = sorted(enumerate(rows_of(frame)), key=lambda each: key(each[1]))
    return frame.iloc[[at for at, _ in order]].reset_index(drop=True)


def _by_method(scores: Iterable[Score]) -> dict[tuple[str, str], list[Score]]:
    """The scores of each (model, method)."""
    groups: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in scores:
        groups[score.model, score.method].append(score)
    return groups


def unranked(scores: Sequence[Score], measure: Measure) -> str:
    """A sentence that names the methods which `by_rank` puts last, whatever their IFR, or ""."""
    groups = _by_method(scores)
    several_models = len({model for model, _ in groups}) > 1
    last: dict[str, list[str]] = defaultdict(list)
    missed = "took in part or not"
    reasons = ("", "broke the model", missed, f"{missed}, and broke the model")
    for (model, method), group in groups.items():
        tier, _ = place_of_method(group, measure, None)
        broken = sum(not kept(score, measure) for score in group)
        tier += tier == DID_NOT_TAKE and 2 * broken > len(group)
        last[reasons[tier]].append(f"{method} ({model})" if several_models else method)
    said = [f"{why}: {', '.join(last[why])}" for why in reasons[1:] if last[why]]
    if not said:
        return ""
    if not last[""]:
        return f"No method took and kept the model ({'; '.join(said)})."
    return f"Listed last, whatever their IFR: {'; '.join(said)}."


def _mean_and_sd(scores: Sequence[Score], metric: str, measure: str) -> tuple[float, float]:
    """Mean over edits and its standard deviation; NaN of none, and of one."""
    found = [v for s in scores if (v := s.number(metric, measure)) is not None]
    if not found:
        return math.nan, math.nan
    mean = sum(found) / len(found)
    if len(found) == 1:
        return mean, math.nan
    return mean, math.sqrt(sum((x - mean) ** 2 for x in found) / (len(found) - 1))


def _mixture(scores: Sequence[Score]) -> str:
    """Says so where edits by one method were made with different settings."""
    kinds: dict[tuple[str, str], set[object]] = defaultdict(set)
    for score in scores:
        made = [score.provenance.get(k) for k in ("hparams_digest", "probe_digest", "seed")]
        kinds[score.model, score.method].add(tuple(made))
    mixed = sorted(method for (_, method), found in kinds.items() if len(found) > 1)
    return f" (with different hyperparameters, probes or seeds: {', '.join(mixed)})" * bool(mixed)


def caption(
    scores: Sequence[Score],
    measure: str,
    columns: Iterable[object] | None = None,
    families: Mapping[str, str] | None = None,
) -> str:
    """Return the caption of a table by method: measure, chain rule, counts; printed below it.

    Args:
        columns: of the table as it is shown; default: all that `method_table` has. Bounds that are
            no columns are printed in brackets behind their value.
        families: {edit: family of its rewrite}, as for `method_table`.
    """
    shown = None if columns is None else {str(c) for c in columns}

    def has(column: str) -> bool:
        return shown is None or column in shown

    text = (
        f"{_what(scores, measure)} IFR is Definition 3 over the chains that count, of all rewrites"
        f"{_undefined(scores, measure, 'ifr')}"
    )
    if has("IFR sd"):
        text += "; IFR mean and sd are over rewrites"
    elif has("IFR mean"):
        text += "; IFR mean is over rewrites"
    text += "; efficacy is p_post(target_new), Preservation the mean of p_post/p_pre"
    text += f"{_undefined(scores, measure, 'preservation')}."
    if has("Subject retention"):
        text += (
            " Subject retention is that mean over the subject's other facts on the chains"
            f"{_undefined(scores, measure, 'subject_retention')}, IFR beyond subject the IFR had"
            " they been kept."
        )
    interval = _interval_of(scores, measure, families)
    if interval:
        text += (
            f" {'`low`, `high`' if has('IFR low') else '[low, high]'}: 95 % interval {interval}."
        )
    return text


def caption_in_brief(scores: Sequence[Score], measure: str) -> str:
    """Return one line on the numbers of a table: their measure, and the chains that count."""
    each = {s.rewrite: s.by_step("ifr_by_steps", measure) for s in scores}
    chains = sum(value.n for steps in each.values() for value in steps.values())
    steps = max((s.options.max_steps for s in scores), default=0)
    of = " a method" * (len({s.method for s in scores}) > 1)
    return (
        f"{MEASURE_NAMES[measure].capitalize()}; {pluralize(chains, 'known chain')}{of} of at most"
        f" {steps} facts. `thinkeval report --protocol` prints the rules."
    )


def caption_each(scores: Sequence[Score], measure: str) -> str:
    """Return the caption of a table with one row an edit."""
    return (
        f"{_what(scores, measure)} One row an edit; `.n` is what a value was taken over, `.low` and"
        " `.high` bound the 95 % interval of sampled answers. What was not taken is empty."
    )


def _what(scores: Sequence[Score], measure: str) -> str:
    options = {s.options.model_dump_json(): s.options for s in scores}.values()
    rules = "; ".join(
        f"chains of ≤ {o.max_steps} facts, bare fact: {o.bare}, Preservation unit: {o.unit},"
        f" {o.rule_text}"
        for o in sorted(options, key=lambda o: o.max_steps)
    )
    asked = ", ".join(dict.fromkeys(s.protocols.get(measure, "protocol unknown") for s in scores))
    edits = f"{pluralize(len(scores), 'edit')}{_mixture(scores)}"
    return f"{edits}, measure: {MEASURE_NAMES[measure]} ({asked}); {rules}."


def _undefined(scores: Sequence[Score], measure: str, metric: str) -> str:
    """Of how many edits a metric is undefined, which no mean counts; empty where of none."""
    n = len(scores) - _mean(scores, metric, measure)[1]
    return f" (undefined for {n} of {pluralize(len(scores), 'edit')})" * bool(n)


def _interval_of(
    scores: Sequence[Score], measure: str, families: Mapping[str, str] | None = None
) -> str:
    """Return the meaning of the intervals of a table by method; empty if no row has one."""
    groups = _by_method(scores)
    sampled = any(
        (value := group[0].get(metric, measure)) is not None and value.low is not None
        for group in groups.values()
        if len(group) == 1
        for metric in interval_titles()
    )
    sizes = {len(group): n_families(group, families) for group in groups.values()}
    over = ["over rewrites (bootstrap)"] * any(n > 2 for n in sizes.values())
    if any(n < size for size, n in sizes.items()) and over:
        counts = ", ".join(
            f"{n} families of {size} rewrites" for size, n in sorted(sizes.items()) if n > 2
        )
        over = [f"over families of rewrites that share chain facts (bootstrap; {counts})"]
    return ", or ".join(over + ["of the sampled answers to one rewrite"] * sampled)
