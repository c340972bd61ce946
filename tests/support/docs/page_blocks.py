"""Code blocks with a title of a page of the documentation, for tests that run them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"


def titled(page: str, title: str) -> str:
    """The text of the block with that title in `docs/PAGE`."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```$', text, re.M | re.S)
    assert found is not None, f"{page} has no block {title!r}"
    return found[1]
