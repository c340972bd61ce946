"""MEND trained to bring the implications along: its loss has −log P(a_I | q_I) in it.

Otherwise like `mend`. An edit of training changes a premise that holds in the graph, and the
conclusion is what the rule then gives; nothing of the set is trained on.
"""

from __future__ import annotations

from thinkeval.service.depedit import strategies


class Strategy(strategies.Strategy):
    """MEND_IMP (DepEdit, section 6.2 and equation 3)."""

    EDITOR = "mend_imp"
