"""The service's routes in this process, on the tests' database."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from thinkeval.cypher.run import Database
from thinkeval.service.web.app import create_app
from thinkeval.service.web.state import database


@pytest.fixture(scope="module")
def client(db: Database) -> TestClient:
    """The routes on the tests' database; without its lifespan, so that no worker starts."""
    app = create_app(workers=0)
    app.dependency_overrides[database] = lambda: db
    return TestClient(app, base_url="http://localhost")
