"""MEND's one step for all updates, on a model that fine-tuning established.

Its hypernetwork is trained on the graph's facts without those of the set (`service.depedit.mend`),
in batches of the size of an update. On an organism it can apply a few updates (the paper's sets of
six facts for MEND_IMP have four); twenty break the model.
"""

from __future__ import annotations

from .. import strategies


class Strategy(strategies.Strategy):
    """MEND (Mitchell et al. 2022), as DepEdit applies it (appendix B)."""

    EDITOR = "mend"
