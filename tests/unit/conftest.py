"""Rule for every test of the unit tier: it imports no torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def without_torch() -> Iterator[None]:
    """Fails a test that imports torch; not in a process that has imported it before."""
    before = "torch" in sys.modules
    yield
    assert before or "torch" not in sys.modules, "it imports torch: move it to tests/model"
