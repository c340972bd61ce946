"""docker-compose.yml sets Neo4j by environment variables; a misspelt one stops the server."""

from __future__ import annotations

from pathlib import Path

import neo4j
import pytest
import yaml

from thinkeval.cypher.run import Database

ROOT = Path(__file__).resolve().parents[4]


def setting(variable: str) -> str:
    """The setting that the official image makes of a variable: `__` is `_`, and `_` is `.`."""
    name = variable.removeprefix("NEO4J_")
    return "_".join(part.replace("_", ".") for part in name.split("__"))


def test_names_are_made_as_the_image_makes_them() -> None:
    assert setting("NEO4J_browser_post__connect__cmd") == "browser.post_connect_cmd"


def test_every_variable_names_a_setting_of_the_server(db: Database, server: dict[str, str]) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    names = {setting(key) for key in services["neo4j"]["environment"] if key != "NEO4J_AUTH"}
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with (
        neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver,
        driver.session() as session,
    ):
        known = {record["name"] for record in session.run("SHOW SETTINGS YIELD name")}
    if db.verify().edition != "community":
        pytest.skip("this server is no Community edition, and may know more settings")
    assert len(names) >= 6
    assert names <= known, names - known
