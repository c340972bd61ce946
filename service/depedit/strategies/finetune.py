"""Fine-tuning on the facts, and on the updates again from there."""

from __future__ import annotations

from .. import strategies


class Strategy(strategies.Strategy):
    """FINETUNE (DepEdit, section 5.2; De Cao et al. 2021)."""

    EDITOR = "finetune"
