"""Rules of the brute force as ThinkEval's own records, for tests."""

from __future__ import annotations

from support.references.closure_reference import PlainRule
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.rules.store import StoredRule


def stored(plain: PlainRule) -> StoredRule:
    """The rule as the data set holds it; its confidence by counts, as mining writes them."""
    kinds = dict(zip("xyz", plain.kinds, strict=True))
    if plain.relation2 is None:
        kinds.pop("y")
    made = rule(
        [Atom(*premise) for premise in plain.premises("x", "y", "z")],
        Atom("x", plain.relation3, "z"),
        kinds=kinds,
        support=round(plain.confidence * 4),
        body=4,
    )
    return StoredRule(made.id, "d", made, "kept")
