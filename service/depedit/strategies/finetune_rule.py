"""Fine-tuning with the rule among the facts: its conclusion is learnt after its premises.

The rule is one more request: "If [Person A] was born in [City A], and … then" is the
prompt, the conclusion its target.
"""

from __future__ import annotations

from ....loaders.records import SUBJECT_SLOT, RewriteRequest
from ....loaders.rule_records import Rule
from .. import strategies


class Strategy(strategies.Strategy):
    """FINETUNE_RULE (DepEdit, section 5.3.2)."""

    EDITOR = "finetune"

    def to_establish(self) -> list[RewriteRequest]:
        """The facts and the rule."""
        return [*super().to_establish(), rule_request(self.knowledge.rule)]


def rule_request(rule: Rule) -> RewriteRequest:
    """The rule as a prompt and its continuation; the prompt's first variable is the subject."""
    premises, _, conclusion = rule.text().rpartition(" then ")
    start, end = premises.index("["), premises.index("]") + 1
    return RewriteRequest(
        id=f"rule {rule.id}",
        dataset="",
        prompt=f"{premises[:start]}{SUBJECT_SLOT}{premises[end:]} then",
        subject=premises[start:end],
        relation="rule",
        target_true="",
        target_new=conclusion.rstrip("."),
    )
