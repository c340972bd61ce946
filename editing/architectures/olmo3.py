"""OLMo 3. As OLMo 2, with sliding windows in most layers.

MEMIT and its family reach z only as far as the norms let through; an edit's record has the rest.
"""

from __future__ import annotations

from . import olmo2

LAYOUT = olmo2.LAYOUT
