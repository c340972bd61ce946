"""MEND's one step for all updates, on a model that fine-tuning established.

Its hypernetwork is trained on the graph's facts but those of the set (`service.depedit.mend`), for
as many edits at once as an update has. On an organism it takes a few updates (the paper's sets of
six facts for MEND_IMP have four), and breaks the model with twenty.
"""

from __future__ import annotations

from thinkeval.service.depedit import strategies


class Strategy(strategies.Strategy):
    """MEND (Mitchell et al. 2022), as DepEdit applies it (appendix B)."""

    EDITOR = "mend"
