"""From answers to edges: the facts of a model graph or an edit graph, validated before writing.

Community edition has no existence constraints, and a missing probability would silently drop a
chain from every metric; so nothing leaves this file without every measured probability in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from thinkeval.cypher.errors import ParameterError
from thinkeval.loaders.records import Fact, RewriteRequest
from thinkeval.service.scoring.probe import Answer, ProbedFact

MEASURES = ("p", "likelihood", "likelihood_norm")

KEPT_RATIO = 0.9
"""p_post / p_pre from which a fact counts as kept."""
REMOVED_RATIO = 0.1
"""p_post / p_pre below which a fact counts as removed; between the two it is weakened."""
KNOWN = 0.05
"""A fact whose pre-edit probability is below this was not known; above it afterwards: added."""


def change(pre: float, post: float) -> str:
    """`kept`, `weakened`, `removed` or `added`, by the ratio of two probabilities."""
    if pre < KNOWN:
        return "added" if post >= KNOWN else "kept"
    ratio = post / pre
    if ratio >= KEPT_RATIO:
        return "kept"
    return "removed" if ratio < REMOVED_RATIO else "weakened"


def caption(relation: str, pre: float, post: float | None = None) -> str:
    """What Neo4j Browser writes on an edge: `studied at .93 → .08`.

    A style sheet of the Browser can only repeat a property, and the probabilities themselves are
    stored with all their digits.
    """
    sides = [pre] if post is None else [pre, post]
    return f"{relation} {' → '.join(map(_short, sides))}"


def _short(probability: float) -> str:
    """Two digits, `.08`; a whole 1 as `1`, since there is little room on an edge."""
    text = f"{probability:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def edge_properties(probed: ProbedFact) -> dict[str, object]:
    """The properties of one FACT, see graph/merge_facts; ParameterError for a bad probability."""
    question = probed.question
    fact = question.fact
    properties: dict[str, object] = {
        "relation": fact.relation,
        "prompt": fact.prompt,
        "questions": list(fact.questions),
        "paraphrases": list(question.generalization or fact.paraphrases),
        "cases": list(fact.cases),
        "role": question.role,
        "listed": question.listed,
        "n_samples": probed.pre.n_samples,
        "answers_pre": list(probed.pre.answers),
    }
    if question.neighborhood:
        properties["neighborhood"] = [near.prompt for near in question.neighborhood]
    if fact.question is not None:
        properties["question"] = fact.question
    properties |= _side(fact, probed.pre, "pre")
    leading = next(m for m in ("likelihood", *MEASURES) if m in probed.pre.values)
    before = probed.pre.values[leading]
    properties["caption"] = caption(fact.relation, before)
    if probed.post is not None:
        properties |= _side(fact, probed.post, "post")
        properties["answers_post"] = list(probed.post.answers)
        after = probed.post.values[leading]
        properties["change"] = change(before, after)
        properties["caption"] = caption(fact.relation, before, after)
    return properties


def _side(fact: Fact, answer: Answer, side: str) -> dict[str, object]:
    out: dict[str, object] = {}
    for measure, value in answer.values.items():
        out[f"{measure}_{side}"] = _checked(fact, f"{measure}_{side}", value)
    for kind, by_measure in (
        ("paraphrases", answer.paraphrases),
        ("neighborhood", answer.neighborhood),
    ):
        for measure, values in by_measure.items():
            name = f"{kind}_{measure}_{side}"
            out[name] = [_checked(fact, name, v) for v in values]
    return out


def _checked(fact: Fact, name: str, value: float) -> float:
    """The value as a float in [0, 1]; rounding just above 1 is clipped, anything else refused."""
    number = float(value)
    if math.isnan(number) or not -1e-9 <= number <= 1 + 1e-6:
        raise ParameterError(
            f"{name} of ({fact.subject}, {fact.relation}, {fact.object}) is {value!r},"
            " not a probability in [0, 1]; nothing was stored.",
            remedy="If the model gives NaN after an edit, lower the strength of the edit.",
        )
    return min(max(number, 0.0), 1.0)


def edited_facts(rewrite: RewriteRequest, scope: Iterable[Fact]) -> tuple[Fact, Fact]:
    """The edited fact twice: with target_true (the listed one where it is) and with target_new."""
    true = next(
        (
            fact
            for fact in scope
            if (fact.subject, fact.relation, fact.object)
            == (rewrite.subject, rewrite.relation, rewrite.target_true)
        ),
        None,
    )
    if true is None:
        true = _bare(rewrite, rewrite.target_true)
    return true, _bare(rewrite, rewrite.target_new)


def _bare(rewrite: RewriteRequest, target: str) -> Fact:
    return Fact(
        subject=rewrite.subject,
        relation=rewrite.relation,
        object=target,
        prompt=rewrite.prompt,
        questions=(rewrite.question,) if rewrite.question else (),
        paraphrases=rewrite.paraphrases,
    )
