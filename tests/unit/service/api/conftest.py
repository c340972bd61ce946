"""Fixtures of tests about the REST API: its OpenAPI document."""

from __future__ import annotations

from typing import Any

import pytest

from support import openapi


@pytest.fixture
def document() -> dict[str, Any]:
    """The document; not to be changed."""
    return openapi.document()
