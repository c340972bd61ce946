"""Drift and routes by brute force, written from their definitions, without any database."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import prod
from statistics import fmean, median
from typing import Any

from support.references.reference import Case, Chain, Edge, Rule, alternatives

KNOWN, KEPT, LOST = 0.05, 0.9, 0.1


def state_of(edge: Edge) -> str:
    """Return the state of one fact after the edit."""
    if edge.pre < KNOWN:
        return "added" if edge.post >= KNOWN else "unknown"
    ratio = edge.post / edge.pre
    if ratio >= KEPT:
        return "kept"
    if edge.replaced is None:
        return "lost" if ratio < LOST else "weakened"
    return "replaced" if edge.replaced else "weakened"


def distances(edges: Sequence[Edge], subjects: Iterable[str]) -> dict[str, int]:
    """The smallest number of facts, in either direction, from a subject to each entity."""
    found = dict.fromkeys(subjects, 0)
    ring = list(found)
    while ring:
        further = []
        for edge in edges:
            for near, far in ((edge.subject, edge.object), (edge.object, edge.subject)):
                if near in ring and far not in found:
                    found[far] = found[near] + 1
                    further.append(far)
        ring = further
    return found


Group = tuple[str, str | int | None]
"""`all`, `far`, `relation` or `distance`, and which one."""


def drift(
    edges: Sequence[Edge],
    subjects: Sequence[str],
    around: Sequence[Edge] | None = None,
    edited: Sequence[str] = (),
    *,
    known_before: bool = False,
) -> dict[Group, dict[str, Any]]:
    """The counts of each group of facts, mean change and shift, and the median of p_post / p_pre.

    Args:
        around: the facts that count and that distances go along; None: the edges.
        edited: ids of facts that do not count.
        known_before: count facts known before the edit only.
    """
    counted = [e for e in around or edges if e.role in ("fact", "target_true")]
    near = distances(counted, subjects)
    stored = {edge.id: edge for edge in edges}
    groups: dict[Group, list[Edge]] = defaultdict(list)
    for fact in counted:
        edge = stored.get(fact.id)
        if edge is None or fact.id in edited or (known_before and edge.pre < KNOWN):
            continue
        groups["all", None].append(edge)
        groups["relation", fact.relation].append(edge)
        if subjects:
            steps = [near[name] for name in (fact.subject, fact.object) if name in near]
            distance = min([*steps, 3])
            groups["distance", distance].append(edge)
            if distance >= 2:
                groups["far", None].append(edge)
    return {
        group: Counter(state_of(edge) for edge in found)
        | {
            "n": len(found),
            "mean_moved": fmean(abs(edge.post - edge.pre) for edge in found),
            "mean_shift": fmean(edge.post - edge.pre for edge in found),
            "median_change": middle([e.post / e.pre for e in found if e.pre >= KNOWN]),
        }
        for group, found in groups.items()
    }


def middle(values: Sequence[float]) -> float | None:
    """The median, or None without a value."""
    return median(values) if values else None


def leads(values: Sequence[float], rule: Rule) -> bool:
    """Return True if a state with these probabilities knows a chain whose product is not 0."""
    known = all(value >= rule.known for value in values)
    return known and prod(values) >= rule.known_chain and prod(values) > 0


def both(chain: Chain, rule: Rule) -> tuple[bool, bool]:
    """Return whether a chain leads to the object before, and after."""
    return leads([e.pre for e in chain], rule), leads([e.post for e in chain], rule)


def routes(chains: Sequence[Chain], rule: Rule) -> dict[str, int]:
    """Count the chains that lead to the object before, after, and in one state only."""
    led = [both(chain, rule) for chain in chains]
    return {
        "chains": len(led),
        "before": sum(pre for pre, _ in led),
        "after": sum(post for _, post in led),
        "opened": sum(post and not pre for pre, post in led),
        "closed": sum(pre and not post for pre, post in led),
    }


def revived(
    edited: Sequence[Edge],
    later: Sequence[Edge],
    case: Case,
    rule: Rule,
    parallel: str = "before",
) -> dict[str, Any]:
    """The chains that an edit closed, and the strongest of them that is open again.

    Args:
        edited: facts with the probabilities of the base and of the edited model.
        later: the same facts with those of the base and of a later state.
    """
    after = {edge.id: edge.post for edge in later}
    chains = []
    for on_pair in alternatives(edited, case, 5, "listed", walk=True):
        first = [min(facts, key=lambda e: (-e.pre, e.id)) for facts in on_pair]
        counted = [[one] for one in first] if parallel == "before" else on_pair
        now = [max(e.post for e in facts) for facts in counted]
        then = [max(after[e.id] for e in facts) for facts in counted]
        names = [case.subject, *(e.object for e in first)]
        led = [leads(values, rule) for values in ([e.pre for e in first], now, then)]
        chains.append((prod(e.pre for e in first), prod(now), prod(then), names, now, then, led))
    closed = [each for each in chains if each[6][0] and not each[6][1]]
    opened = [each for each in closed if each[6][2]]
    found: dict[str, Any] = {"closed": len(closed), "opened": len(opened)}
    if opened:
        best = min(opened, key=lambda each: (-each[2], len(each[3]), each[3]))
        keys = ("base", "edited", "later", "entities", "links_edited", "links_later")
        found |= dict(zip(keys, best, strict=False))
    return found
