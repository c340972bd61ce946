"""Omega(G) the slow way: every proof of the edited fact and every chain, written out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

from support.closure_rules import stored
from support.references.closure_reference import PlainRule, Triple, proofs
from thinkeval.service.scoring.probe import ProbedFact

SEEDS = (*range(9), 11, 12, 13, 14)
TWO_PREMISES = range(8)
"""Seeds of rules with two premises only."""
THRESHOLD = 0.01
KNOWN_CHAIN = 0.01
"""Strength before the edit from which a chain or a proof counts."""
MOST = 5
Sizes = dict[int, tuple[float, float]]
"""{facts: (strength of the best proof before, and after)}."""


def drawn_rules(seed: int) -> list[PlainRule]:
    draw = random.Random(1000 + seed)
    leads_back = PlainRule("q", draw.random() < 0.5, "t", draw.random() < 0.5, "r")
    rules = {stored(leads_back).id: leads_back}
    while len(rules) < 3:
        made = PlainRule(
            draw.choice("rqt"), draw.random() < 0.5, draw.choice("rqt"), draw.random() < 0.5,
            draw.choice("rrqu"), draw.choice((0.5, 1.0)),
        )  # fmt: skip
        rules[stored(made).id] = made
    if seed not in TWO_PREMISES:
        for relation1, relation3 in (("t", "r"), ("r", "u")):
            back = relation1 == relation3 or draw.random() < 0.5
            made = PlainRule(relation1, back, None, False, relation3, draw.choice((0.5, 1.0)))
            rules[stored(made).id] = made
    return list(rules.values())


def triple(fact: ProbedFact) -> Triple:
    each = fact.question.fact
    return (each.subject, each.relation, each.object)


def sides(facts: Sequence[ProbedFact]) -> list[dict[Triple, float]]:
    def of(answer: Any) -> float:
        return answer.values["likelihood"]

    return [{triple(f): of(f.pre) for f in facts}, {triple(f): of(f.post) for f in facts}]


def sized(
    goal: Triple, facts: Sequence[ProbedFact], rules: Sequence[PlainRule], names: dict[str, None]
) -> Sizes:
    """Best proofs of the goal by number of facts, without the edited fact in either form."""
    edited = frozenset(triple(f) for f in facts[:2])
    best: list[dict[int, float]] = [{}, {}]
    for side, values in enumerate(sides(facts)):
        kept = {t: v for t, v in values.items() if t not in edited - {goal}}
        for tree in proofs(goal, kept, rules, names, 4, most=MOST, banned=edited - {goal}):
            found = best[side].get(tree.leaves, -1.0)
            best[side][tree.leaves] = max(found, tree.strength)
    return {n: (best[0][n], best[1][n]) for n in best[0]}


def survives(pre: float, post: float) -> bool:
    return post > THRESHOLD * pre and post > 0


def known(sizes: Sizes) -> Sizes:
    """Those that the model knew before the edit."""
    return {n: pair for n, pair in sizes.items() if pair[0] >= KNOWN_CHAIN}


def chained(links: Sequence[Sizes]) -> Sizes:
    """Best products by number of facts, over all ways to share them out."""
    out: Sizes = {}
    for sizes in product(*(sorted(link) for link in links)):
        if sum(sizes) > MOST:
            continue
        pre = post = 1.0
        for link, size in zip(links, sizes, strict=True):
            pre, post = pre * link[size][0], post * link[size][1]
        found = out.get(sum(sizes), (-1.0, -1.0))
        out[sum(sizes)] = (max(found[0], pre), max(found[1], post))
    return out


def mixed(
    facts: Sequence[ProbedFact], implied: dict[Triple, Sizes], names: Sequence[str]
) -> dict[tuple[str, ...], list[Sizes]]:
    """Every chain with an implied link, by its entities: what each of its forms is worth."""
    old, new = triple(facts[0]), triple(facts[1])
    before, after = sides(facts)
    links: dict[tuple[str, str], list[tuple[bool, Sizes]]] = {}
    for t in before:
        if t != new:
            links.setdefault((t[0], t[2]), []).append((False, {1: (before[t], after[t])}))
    for t, sizes in implied.items():
        if sizes and t not in (old, new):
            links.setdefault((t[0], t[2]), []).append((True, sizes))
    out: dict[tuple[str, ...], list[Sizes]] = {}
    inner = [n for n in names if n not in (old[0], old[2])]

    def walk(path: tuple[str, ...]) -> None:
        last = path[-1]
        if len(path) <= MOST:
            for name in (*inner, old[2]):
                if name not in path and (last, name) in links:
                    if name == old[2]:
                        note((*path, name))
                    else:
                        walk((*path, name))

    def note(path: tuple[str, ...]) -> None:
        for form in product(*(links[pair] for pair in pairwise(path))):
            if any(is_implied for is_implied, _ in form):
                worth = known(chained([sizes for _, sizes in form]))
                if worth:
                    out.setdefault(path, []).append(worth)

    walk((old[0],))
    return out
