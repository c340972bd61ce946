"""Fixtures of the model tests: the organism behind `transformers serve`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.endpoints.model_server import ModelServer, serving_model, with_template
from thinkeval.service.scoring.runtime import RuntimeModel


@pytest.fixture(scope="session")
def served_organism(
    organism: RuntimeModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModelServer]:
    """`transformers serve` on the organism: it answers as the organism does."""
    scratch = tmp_path_factory.mktemp("transformers-serve")
    folder = with_template(Path(organism.source), scratch / "chat")
    with serving_model(folder, scratch) as server:
        yield server
