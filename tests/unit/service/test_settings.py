"""Variables of the environment: those that are not read, and the database's name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import ELSEWHERE, PREFIX, Settings

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("THINKEVAL_NEO4J_PASWORD", "THINKEVAL_NEO4J_PASSWORD"),
        ("THINKEVAL_WORKER", "THINKEVAL_WORKERS"),
        ("thinkeval_devices", "THINKEVAL_DEVICE"),
        ("THINKEVAL_JAVAS", "THINKEVAL_JAVA"),
    ],
)
def test_a_misspelt_variable_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(UsageError) as caught:
        Settings()
    assert name in caught.value.detail
    assert f"Did you mean {near}?" in caught.value.remedy


def test_variables_of_other_programs_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_DATABASE", "other")
    monkeypatch.setenv("THINKEVALUATION", "other")
    assert Settings().neo4j_database is None
    assert Settings().database_name == "neo4j"


def test_the_database_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKEVAL_NEO4J_DATABASE", "think-eval")
    assert Settings().database_name == Settings().neo4j_database == "think-eval"
    monkeypatch.setenv("THINKEVAL_NEO4J_DATABASE", "")
    with pytest.raises(UsageError, match="THINKEVAL_NEO4J_DATABASE"):
        Settings()


def test_every_variable_of_the_repository_is_known() -> None:
    """Those that a part of it reads without `Settings` are listed.

    The lists of changes name variables that are gone.
    """
    found = subprocess.run(
        ["git", "grep", "-hoE", rf"\b{PREFIX}[A-Z0-9_]*[A-Z0-9]\b", "--", "*.py", "*.yml", "*.md",
         ":!CHANGELOG.md", ":!docs/project/changed-in-*.md"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    known = {f"{PREFIX}{name}".upper() for name in (*Settings.model_fields, *ELSEWHERE)}
    here = set(re.findall(rf"{PREFIX}\w+", Path(__file__).read_text(encoding="utf-8")))
    assert set(found) - known - here <= {"THINKEVAL_NEO4J", "THINKEVAL_NEO4J_DATABSE"}
