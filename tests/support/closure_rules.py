"""Rules of the brute force as ThinkEval's own records, for tests."""

from __future__ import annotations

from support.references.closure_reference import PlainRule
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.rules.store import StoredRule


def stored(plain: PlainRule) -> StoredRule:
    """The rule as the data set holds it; its confidence by counts, as mining writes them."""
    one, other = plain.premises("x", "y", "z")
    made = rule(
        [Atom(*one), Atom(*other)],
        Atom("x", plain.relation3, "z"),
        kinds=dict(zip("xyz", plain.kinds, strict=True)),
        support=round(plain.confidence * 4),
        body=4,
    )
    return StoredRule(made.id, "d", made, "kept")
