"""A runtime on the test's server, for growth runs in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.serving import settings_of
from thinkeval.service.scoring.runtime import Runtime


@pytest.fixture
def runtime(server: dict[str, str]) -> Iterator[Runtime]:
    with Runtime(settings_of(server)) as made:
        yield made
