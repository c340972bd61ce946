"""States that a service opens for its clients: none that its operator did not name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.states.checks import require_allowed
from thinkeval.service.states.spec import StateIn, parse

ADDRESS = "http://127.0.0.1:8001/v1"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A service that may load gpt2 and what is in one folder, and call one address."""
    for name in ("models/m", "models/lora", "secret/lora"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "models" / "link").symlink_to(tmp_path / "secret" / "lora")
    return Settings(
        home=tmp_path / "home",
        models=("gpt2",),
        model_dirs=(tmp_path / "models",),
        llm_base_url=None,
        llm_endpoints=(ADDRESS,),
    )


def test_models_and_folders_are_those_of_edits(settings: Settings, db: Database) -> None:
    folder = settings.model_dirs[0]
    for word in ("organism", "gpt2@main", f"{folder}/m", "gpt2+8bit"):
        require_allowed(settings, db, parse(word))
    for word in ("gpt2-xl", f"{folder.parent}/secret/lora", "organism:steps=99999999", "models/m"):
        with pytest.raises(UsageError):
            require_allowed(settings, db, parse(word))


def test_adapters_are_read_from_the_operators_folders_only(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settings.model_dirs[0]
    require_allowed(settings, db, parse(f"gpt2+adapter:{folder}/lora"))
    monkeypatch.chdir(folder)
    for path in ("secret/lora", "models/../secret/lora", "models/link", "models/absent"):
        with pytest.raises(UsageError, match="not in a folder"):
            require_allowed(settings, db, parse(f"gpt2+adapter:{folder.parent}/{path}"))
    for name in ("lora", "~/lora", "owner/name", "\0"):
        with pytest.raises(UsageError, match="not in a folder"):
            require_allowed(settings, db, StateIn(model="gpt2", adapter=name))


def test_edits_are_named_by_the_id_of_a_stored_one(
    settings: Settings, db: Database, graph_id: str, tmp_path: Path
) -> None:
    facts = [probed(("S", "r", "T"), 0.9, 0.1), probed(("S", "r", "N"), 0.1, 0.9)]
    saved = {"delta": {"saved": True}}
    large = {"delta": {"saved": False, "reason": "the edit takes 900 MB", "remedy": "Raise it."}}
    store_edit(db, f"{graph_id}-a", facts, dataset=graph_id, provenance=saved)
    store_edit(db, f"{graph_id}-b", facts, dataset=graph_id, provenance=large)
    require_allowed(settings, db, StateIn(model="gpt2", edits=(f"{graph_id}-a",)))
    with pytest.raises(NothingStoredError, match="900 MB") as refused:
        require_allowed(settings, db, StateIn(model="gpt2", edits=(f"{graph_id}-b",)))
    assert refused.value.remedy == "Raise it."
    file = tmp_path / "e.safetensors"
    file.touch()
    for name in (str(file), f"../{graph_id}-a", f"{graph_id}-nothing", os.devnull):
        with pytest.raises(NotFoundError):
            require_allowed(settings, db, StateIn(model="gpt2", edits=(f"{graph_id}-a", name)))


def test_endpoints_are_the_operators_addresses(settings: Settings, db: Database) -> None:
    require_allowed(settings, db, parse(f"endpoint:{ADDRESS}#m"))
    require_allowed(settings, db, parse(f"endpoint:{ADDRESS}/#m"))
    for address in (
        "http://127.0.0.1:8002/v1",
        "http://localhost:8001/v1",
        "http://127.0.0.1:8001/v1/../admin",
        "https://127.0.0.1:8001/v1",
        "http://169.254.169.254/latest",
        "http://127.0.0.1:8001.example.com/v1",
        f"{ADDRESS}x",
    ):
        with pytest.raises(UsageError, match="not one that this service may call"):
            require_allowed(settings, db, StateIn(model="m", endpoint=address))
