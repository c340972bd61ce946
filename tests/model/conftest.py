"""Fixtures of the model tests: the organism behind `transformers serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.endpoints.model_server import ModelServer, serving_model, with_template
from support.serving import Shared, sharing
from thinkeval.service.scoring.runtime import RuntimeModel


@pytest.fixture(scope="session")
def organism_server(
    organism: RuntimeModel, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Shared[ModelServer]]:
    """`transformers serve` on the organism, while tests in a row use it."""

    @contextmanager
    def ready() -> Iterator[ModelServer]:
        scratch = tmp_path_factory.mktemp("transformers-serve")
        folder = with_template(Path(organism.source), scratch / "chat")
        with serving_model(folder, scratch) as server:
            yield server

    with sharing(request, ready) as shared:
        yield shared


@pytest.fixture
def served_organism(organism_server: Shared[ModelServer]) -> ModelServer:
    """The server that answers as the organism does."""
    return organism_server.start()
