"""The folder of an audit appears whole or not at all, and replaces nothing but an audit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from support.states.audits import is_whole, made_up
from thinkeval.service.base.errors import ConflictError, UsageError
from thinkeval.service.states import audit_page
from thinkeval.service.states.audit_page import DATA, PAGE, SUMS, build_files, require_free


def write(folder: Path) -> None:
    audit_page.write(build_files(made_up()), folder)


def test_the_json_is_the_content_and_both_files_have_their_digests(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "audit"
    write(folder)
    assert json.loads((folder / DATA).read_text(encoding="utf-8")) == json.loads(
        json.dumps(made_up())
    )
    sums = dict(reversed(line.split("  ")) for line in (folder / SUMS).read_text().splitlines())
    assert sums.keys() == {PAGE, DATA}
    for name, digest in sums.items():
        assert digest == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert list(folder.parent.iterdir()) == [folder], "nothing is left beside it"


@pytest.mark.parametrize("name", [PAGE, DATA])
def test_sha256sum_finds_one_altered_character_and_a_missing_file(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "audit"
    write(folder)
    assert is_whole(folder)
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text.replace(b".", b",", 1))
    assert not is_whole(folder)
    (folder / name).write_bytes(text)
    assert is_whole(folder)
    (folder / name).unlink()
    assert not is_whole(folder)


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("in the middle")

    write(tmp_path / "old")
    before = {path: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    monkeypatch.setattr(audit_page, "_sync", fail)
    for name in ("new", "old"):
        with pytest.raises(RuntimeError):
            audit_page.write({PAGE: b"another"}, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert {path: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before


def test_values_without_a_number_are_no_part_of_an_audit() -> None:
    with pytest.raises(ValueError, match="JSON"):
        build_files(made_up() | {"drift": [{"shift": float("nan")}]})


def test_which_folders_may_be_written(tmp_path: Path) -> None:
    require_free(tmp_path / "none", force=False)
    (tmp_path / "empty").mkdir()
    require_free(tmp_path / "empty", force=False)
    write(tmp_path / "empty")
    with pytest.raises(ConflictError, match="an audit already"):
        require_free(tmp_path / "empty", force=False)
    require_free(tmp_path / "empty", force=True)
    write(tmp_path / "empty")
    assert is_whole(tmp_path / "empty")
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
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert is_whole(tmp_path / "real")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "file" / "audit")
