"""MEND trained to propagate edits to implications: its loss includes −log P(a_I | q_I).

Otherwise like `mend`. A training edit changes a premise that is a fact of the graph, and the target
is the rule's new conclusion; no fact of the set is used for training.
"""

from __future__ import annotations

from .. import strategies


class Strategy(strategies.Strategy):
    """MEND_IMP (DepEdit, section 6.2 and equation 3)."""

    EDITOR = "mend_imp"
