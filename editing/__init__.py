"""Models in, answers and weight updates out. Importing this package imports no torch."""

from __future__ import annotations

import logging
import os

# GNU OpenMP reads these when torch loads it, so they must be set before any module of this package
# imports torch. By default idle threads spin: on a busy machine, 60 training steps of a small model
# took 85 s instead of 6 s. Sleeping threads cost an idle machine little. Values that the user has
# set take precedence.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "0")

# Where torchao is installed, transformers imports it, and torch logs two deprecations of torchao's.
logging.getLogger("torch.utils._pytree").setLevel(logging.ERROR)
