"""Models in, answers and weight updates out. Importing this package imports no torch."""

from __future__ import annotations

import os

# GNU OpenMP reads these when torch loads it, so they have to be set before any room of this
# package imports torch. By default idle threads spin while they wait: on a busy machine, 60
# training steps of a small model took 85 s instead of 6 s. Sleeping costs a quiet machine little.
# A user's own choice stands.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
