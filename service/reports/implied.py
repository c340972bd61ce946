"""The conclusions of rules for readers: proofs, recovery of the old object, chains over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.formatting import cell, pluralize
from ..models.edit import MEASURE_NAMES, Measure, Score
from ..rules import implications as concluded
from ..rules import omega as recovery
from ..rules.implications import GOOD as RIGHT
from ..rules.implications import MEANINGS, share_text
from ..rules.store import kept_rules
from .graph_tables import ways_table
from .outline import BAD, GOOD, NAME, QUIET, RULE, STRONG, Outline, Phrase, Shown

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.implications import ImplicationOut, ImplicationsOut
    from ..rules.omega import MixedChainOut, MixedLinkOut, MixedPage, OmegaOut
    from ..rules.schemas import ProofOut


def of_edit(db: Database, score: Score, measure: Measure, limit: int = 20) -> Iterator[Shown]:
    """Yield the conclusions of the data set's rules for an edit; nothing without rules."""
    rules = kept_rules(db, score.dataset)
    if rules:
        yield from omega(recovery.omega(db, score, measure, rules), score.target_true)
        yield from implications(concluded.implications(db, score, measure, rules), limit)


def proof(found: ProofOut, note: str = "") -> Outline:
    """Return a proof as a tree: conclusion, the rule, its premises."""
    phrases: list[Phrase] = [
        (f"{found.subject} ", NAME),
        (f"{found.relation} ", STRONG if found.implied else ""),
        (found.object, NAME),
    ]
    if found.strength_pre is not None:
        after = "" if found.strength_post is None else f" → {cell(found.strength_post)}"
        phrases.append((f"   {cell(found.strength_pre)}{after}", ""))
    if note:
        phrases.append((f"   {note}", QUIET))
    below = [proof(each, "" if each.implied else "fact") for each in found.premises]
    return Outline(phrases, [Outline([(found.text, RULE)], below)] if found.text else below)


def omega(found: OmegaOut, target_true: str) -> Iterator[Shown]:
    """Yield how the old object is recovered, by chains or rules, with proofs."""
    yield ways_table(found, target_true)
    for each in found.proofs:
        yield proof(each, "proves the old fact")


def implications(found: ImplicationsOut, limit: int = 20) -> Iterator[Shown]:
    """Yield the conclusions that lost a premise, that are due now, or follow either way.

    Args:
        limit: 0: all.
    """
    shown = found.items[:limit] if limit else found.items
    title = f"Implications by {pluralize(found.rules, 'rule')} ({MEASURE_NAMES[found.measure]})"
    if len(shown) < len(found.items):
        title += f", {len(shown)} of {len(found.items)}"
    yield Outline([(title, STRONG)], [_conclusion(item) for item in shown])
    for name in ("stale", "propagated", "kept"):
        yield f"{name} {share_text(getattr(found, name))}"
    if any(item.verdict is None for item in found.items):
        yield "Conclusions without a probe are undefined: ask again with --implications."
    met = {item.verdict for item in shown}
    yield from (f"{verdict}: {text}" for verdict, text in MEANINGS.items() if verdict in met)


def _conclusion(item: ImplicationOut) -> Outline:
    style = QUIET if item.verdict in (None, "not known") else GOOD if item.verdict in RIGHT else BAD
    phrases: list[Phrase] = [
        (f"{item.side}: ", QUIET),
        (item.verdict or "not asked", style),
        (f"  {item.subject} {item.relation} {item.object}", NAME),
        (f"   {cell(item.pre)} → {cell(item.post)}", ""),
    ]
    below = [
        Outline(
            [(grounding.text, RULE)],
            [
                Outline([
                    (
                        f"{each.subject} {each.relation} {each.object}"
                        f"   {cell(each.pre)} → {cell(each.post)}"
                        + f"  (edited, {grounding.form})" * each.edited,
                        "",
                    )
                ])
                for each in grounding.premises
            ],
        )
        for grounding in item.groundings
    ]  # fmt: skip
    return Outline(phrases, below)


def chains(page: MixedPage) -> Iterator[Shown]:
    """Yield the chains over conclusions, strongest after the edit first, with their proofs."""
    yield (
        f"{page.surviving} of {pluralize(page.looked_at, 'chain')} over conclusions of rules"
        f" {'survives' if page.surviving == 1 else 'survive'}, within"
        f" {pluralize(page.max_steps, 'fact')}, by {pluralize(page.rules, 'rule')}"
        f" ({MEASURE_NAMES[page.measure]})"
    )
    yield from (_chain(number, item) for number, item in enumerate(page.items, 1))
    if len(page.items) < page.total:
        yield f"showing {len(page.items)} of {page.total}"


def _chain(number: int, item: MixedChainOut) -> Outline:
    phrases: list[Phrase] = [(f"{number}. ", "")]
    if item.surviving is None:
        phrases.append(("? not probed", QUIET))
    else:
        phrases += [
            ("● survives", BAD) if item.surviving else ("○ cut", QUIET),
            (
                f"  {pluralize(item.steps or 0, 'fact')}  R {cell(item.r_pre)} → R'"
                f" {cell(item.r_post)}  retention {cell(item.ratio)}",
                "",
            ),
        ]
    phrases.append((f"\n   {item.entities[0]}", NAME))
    return Outline(phrases, [_link(link) for link in item.links])


def _link(link: MixedLinkOut) -> Outline:
    phrases: list[Phrase] = [
        ("∴ " if link.implied else "─ ", ""),
        (f"{link.relation} → {link.object}", STRONG if link.implied else ""),
        (f"   {cell(link.pre)} → {cell(link.post)}  retention {cell(link.ratio)}", ""),
    ]
    if link.implied and link.facts:
        phrases.append((f"   a conclusion, by {pluralize(link.facts, 'fact')}", QUIET))
    return Outline(phrases, [proof(link.proof)] if link.proof else ())
