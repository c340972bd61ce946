"""Frequency of Python's garbage collector in the program and in its workers."""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 20)
"""Python's own are (700, 10, 10). Importing torch and transformers makes some million objects that
live as long as the process, and each run looks at them: a tenth of the processor time of a start
(4.8 against 4.3 s for importing transformers' GPT-2)."""


def collect_seldom() -> None:
    """Run the collector less often from now on, in this process; objects in cycles live longer."""
    gc.set_threshold(*THRESHOLDS)
