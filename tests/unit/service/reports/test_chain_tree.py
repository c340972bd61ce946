"""Chains folded by their first facts, against sums over the chains themselves."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

from thinkeval.cypher.rows import ScoredChainRow
from thinkeval.cypher.rows.chains import Link
from thinkeval.service.reports.edit import Branch, chain_tree


def chain(names: str, pre: float = 0.8, ratio: float = 0.5) -> ScoredChainRow:
    """A chain over entities of one letter; the last link alone changes, by `ratio`."""
    links = tuple(
        Link(f"{a}{b}", a, "r", b, "{} is", None, pre, pre, 1.0 if pre else None)
        for a, b in itertools.pairwise(names)
    )
    r_pre = pre ** len(links)
    return ScoredChainRow(
        len(links),
        tuple(names),
        r_pre,
        r_pre * ratio,
        ratio if r_pre else None,
        r_pre >= 0.01,
        ratio > 0.01,
        links,
    )


def every(branches: list[Branch]) -> Iterator[Branch]:
    for branch in branches:
        yield branch
        yield from every(list(branch.branches))


def test_a_branch_holds_the_chains_that_begin_with_its_facts() -> None:
    tree = chain_tree([chain("SAO"), chain("SABO", ratio=0.0), chain("SCO", ratio=0.1)])
    assert [(b.link.object, b.chains, b.surviving) for b in tree] == [("A", 2, 1), ("C", 1, 1)]
    assert [(b.link.object, b.ends) for b in tree[0].branches] == [("O", 1), ("B", 0)]
    assert tree[0].best == 0.5
    assert tree[0].branches[1].path == ("SA", "AB")
    whole = (0.5 + 0.1) / math.sqrt(2)
    assert tree[0].ifr_share == pytest.approx(0.5 / math.sqrt(2) / whole)


def test_shares_and_counts_equal_sums_over_the_chains() -> None:
    """All paths of up to four facts over five relatives, with ratios at random."""
    rng = random.Random(3)
    found = [
        chain("S" + "".join(middle) + "O", ratio=rng.choice([0.0, rng.random()]))
        for n in range(4)
        for middle in itertools.permutations("ABCDE", n)
    ]
    whole = sum(c.r_post / c.r_pre / math.sqrt(c.steps) for c in found)
    tree = chain_tree(found)
    assert sum(b.ifr_share or 0.0 for b in tree) == pytest.approx(1.0)
    for branch in every(tree):
        mine = [
            c
            for c in found
            if tuple(link.id for link in c.links)[: len(branch.path)] == branch.path
        ]
        assert branch.chains == len(mine)
        assert branch.surviving == sum(c.surviving for c in mine)
        share = sum(c.r_post / c.r_pre / math.sqrt(c.steps) for c in mine) / whole
        assert branch.ifr_share == pytest.approx(share)
        assert branch.ends + sum(b.chains for b in branch.branches) == branch.chains


def test_chains_without_a_ratio_are_counted_and_have_no_share() -> None:
    tree = chain_tree([chain("SAO", pre=0.0, ratio=0.0)])
    assert (tree[0].chains, tree[0].ifr_share, tree[0].best) == (1, None, None)
    assert chain_tree([]) == []
