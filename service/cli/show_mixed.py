"""How chains over facts and conclusions together look in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from thinkeval.service.cli.options import cell, console, several
from thinkeval.service.cli.rules_apply import proof_tree
from thinkeval.service.schemas import MEASURE_NAMES

if TYPE_CHECKING:
    from thinkeval.service.rules.mixed_chains import MixedChainOut, MixedLinkOut, MixedPage


def show_mixed(page: MixedPage) -> None:
    """The chains, strongest after the edit first; implied links with their proofs."""
    out = console()
    out.print(
        f"{page.surviving} of {several(page.looked_at, 'chain')} with implied links"
        f" {'survives' if page.surviving == 1 else 'survive'}, within"
        f" {several(page.max_steps, 'fact')}, by {several(page.rules, 'rule')}"
        f" ({MEASURE_NAMES[page.measure]})",
        highlight=False,
    )
    for number, item in enumerate(page.items, 1):
        out.print(_tree(number, item))
    if len(page.items) < page.total:
        out.print(f"showing {len(page.items)} of {page.total}", style="dim", highlight=False)


def _tree(number: int, item: MixedChainOut) -> Tree:
    text = Text(f"{number}. ")
    if item.surviving is None:
        text.append("? not probed", "dim")
    else:
        text.append(*(("● survives", "bold red") if item.surviving else ("○ cut", "dim")))
        text.append(
            f"  {several(item.steps or 0, 'fact')}  R {cell(item.r_pre)} → R' {cell(item.r_post)}"
            f"  retention {cell(item.ratio)}"
        )
    text.append(f"\n   {item.entities[0]}", "blue")
    tree = Tree(text, guide_style="dim")
    for link in item.links:
        branch = tree.add(_link(link))
        if link.proof is not None:
            branch.add(proof_tree(link.proof))
    return tree


def _link(link: MixedLinkOut) -> Text:
    text = Text("∴ " if link.implied else "─ ")
    text.append(f"{link.relation} → {link.object}", "bold" if link.implied else "")
    text.append(f"   {cell(link.pre)} → {cell(link.post)}  (× {cell(link.ratio)})")
    if link.implied and link.facts:
        text.append(f"   implied, by {several(link.facts, 'fact')}", "dim")
    return text
