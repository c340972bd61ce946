"""The folder of an audit appears whole or not at all, and replaces nothing but an audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.states.audits import contents, written
from thinkeval.service.audit import bundle
from thinkeval.service.audit.bundle import chained, require_free
from thinkeval.service.audit.schemas import DATA, ENTRIES, PAGE
from thinkeval.service.audit.verify import verify
from thinkeval.service.errors import ConflictError, UsageError


def test_the_files_hold_the_same_entries(tmp_path: Path) -> None:
    entries = written(tmp_path / "new" / "audit")
    folder = tmp_path / "new" / "audit"
    assert sorted(path.name for path in folder.iterdir()) == sorted([PAGE, DATA, ENTRIES])
    read = json.loads((folder / DATA).read_text(encoding="utf-8"))
    assert [(each["kind"], each["data"]) for each in read["entries"]] == [
        (kind, json.loads(json.dumps(data))) for kind, data in contents()
    ]
    last, seal = entries[-2:]
    assert read["last_digest"] == last.digest == seal.data["last_digest"]
    assert last.digest in (folder / PAGE).read_text(encoding="utf-8")
    assert seal.data["entries"] == len(entries) - 1
    assert list(folder.parent.iterdir()) == [folder], "nothing is left beside it"


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> str:
        raise RuntimeError("in the middle")

    written(tmp_path / "old")
    seal = verify(tmp_path / "old").seal
    monkeypatch.setattr(bundle, "as_json", fails)
    for name in ("new", "old"):
        with pytest.raises(RuntimeError):
            written(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert verify(tmp_path / "old").seal == seal


def test_values_without_a_number_are_no_part_of_an_audit() -> None:
    with pytest.raises(ValueError, match="JSON"):
        chained([("fact", {"p": float("nan")})])


def test_which_folders_may_be_written(tmp_path: Path) -> None:
    require_free(tmp_path / "none", force=False)
    (tmp_path / "empty").mkdir()
    require_free(tmp_path / "empty", force=False)
    written(tmp_path / "empty")
    assert verify(tmp_path / "empty").ok
    with pytest.raises(ConflictError, match="an audit already"):
        require_free(tmp_path / "empty", force=False)
    require_free(tmp_path / "empty", force=True)
    first = verify(tmp_path / "empty").seal
    written(tmp_path / "empty")
    assert verify(tmp_path / "empty").seal == first, "the same entries have the same seal"
    (tmp_path / "empty" / "thesis.tex").write_text("years of work")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name in ("empty", "other", "file"):
        for force in (False, True):
            with pytest.raises(ConflictError):
                require_free(tmp_path / name, force=force)
    assert (tmp_path / "other" / "thesis.tex").read_text() == "years of work"


def test_a_linked_folder_is_written_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert verify(tmp_path / "real").ok


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        written(tmp_path / "file" / "audit")
