"""An audit is verified: any one change is found and named, in every file and every entry."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from support.states.audits import contents, written
from thinkeval.service.audit.bundle import chained
from thinkeval.service.audit.schemas import DATA, ENTRIES, KINDS, PAGE, Entry
from thinkeval.service.audit.verify import verify
from thinkeval.service.errors import NotFoundError

N = len(contents()) + 1
"""Entries with the seal."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audits") / "made"
    written(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "audit"))


def lines(folder: Path) -> list[str]:
    return (folder / ENTRIES).read_text(encoding="utf-8").split("\n")[:-1]


def put(folder: Path, texts: list[str]) -> None:
    (folder / ENTRIES).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def test_the_made_up_audit_has_every_kind_of_entry() -> None:
    assert {kind for kind, _ in contents()} | {"seal"} == set(KINDS)


def test_an_audit_as_it_was_written_is_unaltered(folder: Path) -> None:
    found = verify(folder)
    assert (found.ok, found.entries, found.altered) == (True, N, None)
    assert found.seal == json.loads(lines(folder)[-1])["digest"]
    assert (found.comparison, found.signature) == ("compare-it", None)


def test_digests_are_those_that_anyone_computes(folder: Path) -> None:
    """By the description alone: SHA-256 of the canonical JSON of n, kind, data and previous."""
    previous = ""
    for number, line in enumerate(lines(folder), 1):
        entry = json.loads(line)
        content = {key: entry[key] for key in ("n", "kind", "data", "previous")}
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert entry["digest"] == hashlib.sha256(text.encode()).hexdigest()
        assert (entry["n"], entry["previous"]) == (number, previous)
        previous = entry["digest"]
    files = json.loads(lines(folder)[-1])["data"]["files"]
    for name in (PAGE, DATA):
        assert files[name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


@hypothesis.given(data=st.data())
@hypothesis.settings(
    max_examples=400, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_one_changed_character_names_its_entry(made: Path, folder: Path, data: Any) -> None:
    texts = lines(made)
    number = data.draw(st.integers(1, N), label="entry")
    text = texts[number - 1]
    at = data.draw(st.integers(0, len(text) - 1), label="place")
    letter = data.draw(
        st.characters(exclude_characters=[text[at], "\n"], codec="utf-8"), label="letter"
    )
    put(folder, [*texts[: number - 1], text[:at] + letter + text[at + 1 :], *texts[number:]])
    found = verify(folder)
    assert found.altered is not None
    assert (found.ok, found.altered.n, found.altered.file) == (False, number, ENTRIES)


@pytest.mark.parametrize("number", range(1, N + 1))
@pytest.mark.parametrize("part", ["n", "kind", "data", "previous", "digest"])
def test_each_part_of_each_entry_counts(folder: Path, number: int, part: str) -> None:
    texts = lines(folder)
    entry = json.loads(texts[number - 1])
    kind = entry["kind"]
    other = {
        "n": entry["n"] + 1,
        "kind": "fact" if kind != "fact" else "chain",
        "data": entry["data"] | {"more": 1},
        "previous": "0" * 64,
        "digest": "0" * 64,
    }
    made = Entry(**(entry | {part: other[part]}))
    put(folder, [*texts[: number - 1], made.line, *texts[number:]])
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.what) == (number, "digest")
    assert found.kind == (kind if part != "kind" else other["kind"])


def anew(folder: Path, number: int) -> None:
    """An entry with other data, and the digest of those."""
    texts = lines(folder)
    old = json.loads(texts[number - 1])
    before = Entry(**json.loads(texts[number - 2])) if number > 1 else None
    made = Entry.after(before, old["kind"], old["data"] | {"more": 1})
    put(folder, [*texts[: number - 1], made.line, *texts[number:]])


@pytest.mark.parametrize("number", range(1, N))
def test_an_entry_with_a_digest_of_its_own_is_named(folder: Path, number: int) -> None:
    anew(folder, number)
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.what) == (number, "previous")
    assert f"continues another entry {number}" in found.why


@pytest.mark.parametrize("number", range(1, N))
def test_a_removed_entry_is_missing(folder: Path, number: int) -> None:
    texts = lines(folder)
    put(folder, [*texts[: number - 1], *texts[number:]])
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.what, found.kind) == (number, "missing", None)


@pytest.mark.parametrize("removed", [1, 2, 5, N])
def test_entries_removed_at_the_end_are_missing(folder: Path, removed: int) -> None:
    put(folder, lines(folder)[: N - removed])
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.what) == (N - removed + 1, "missing")
    assert "seal" in found.why


def test_what_comes_after_the_seal_was_added(folder: Path) -> None:
    texts = lines(folder)
    more = Entry.after(Entry(**json.loads(texts[-1])), "fact", {})
    put(folder, [*texts, more.line])
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.what) == (N + 1, "added")


def test_a_seal_that_counts_otherwise_is_refused(folder: Path) -> None:
    """Entries were removed, and a seal was made for the rest with the old count."""
    texts = lines(folder)
    seal = json.loads(texts[-1])
    made = Entry.after(Entry(**json.loads(texts[-3])), "seal", seal["data"])
    put(folder, [*texts[:-2], made.line])
    found = verify(folder).altered
    assert found is not None
    assert (found.n, found.kind) == (N - 1, "seal")


@hypothesis.given(data=st.data())
@hypothesis.settings(
    max_examples=100, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
@pytest.mark.parametrize("name", [PAGE, DATA])
def test_one_changed_character_of_another_file(
    made: Path, folder: Path, name: str, data: Any
) -> None:
    text = (made / name).read_text(encoding="utf-8")
    at = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.characters(exclude_characters=[text[at]], codec="utf-8"))
    (folder / name).write_bytes((text[:at] + letter + text[at + 1 :]).encode())
    found = verify(folder).altered
    assert found is not None
    assert (found.file, found.what) == (name, "file")


@pytest.mark.parametrize("number", range(1, N))
def test_the_entry_that_another_file_shows_otherwise_is_named(folder: Path, number: int) -> None:
    content = json.loads((folder / DATA).read_text(encoding="utf-8"))
    content["entries"][number - 1]["data"]["more"] = 1
    (folder / DATA).write_text(json.dumps(content, indent=2), encoding="utf-8")
    found = verify(folder).altered
    assert found is not None
    assert (found.file, found.n) == (DATA, number)
    assert found.kind == content["entries"][number - 1]["kind"]


def _cut_short(folder: Path) -> None:
    path = folder / ENTRIES
    path.write_bytes(path.read_bytes()[:-1])


def _two_in_a_line(folder: Path) -> None:
    path = folder / ENTRIES
    path.write_bytes(path.read_bytes().replace(b"\n", b" ", 4)[:])


@pytest.mark.parametrize(
    ("change", "file", "what", "n"),
    [
        (lambda f: (f / PAGE).unlink(), PAGE, "missing", N),
        (lambda f: (f / DATA).unlink(), DATA, "missing", N),
        (lambda f: (f / "notes.txt").write_text("x"), "notes.txt", "added", None),
        (lambda f: (f / "seal.sig").write_text("x"), "seal.sig", "added", None),
        (lambda f: (f / ENTRIES).write_bytes(b""), ENTRIES, "missing", 1),
        (lambda f: (f / ENTRIES).write_bytes(b"\xff\n"), ENTRIES, "digest", 1),
        (lambda f: (f / ENTRIES).write_bytes(b"[" * 100_000), ENTRIES, "digest", 1),
        (_cut_short, ENTRIES, "digest", N),
        (_two_in_a_line, ENTRIES, "digest", 1),
    ],
)
def test_other_damage(
    folder: Path, change: Callable[[Path], Any], file: str, what: str, n: int | None
) -> None:
    change(folder)
    found = verify(folder).altered
    assert found is not None
    assert (found.file, found.what, found.n) == (file, what, n)


def test_another_format_is_refused(folder: Path) -> None:
    from thinkeval.service.audit.bundle import write

    changed = [(k, d | {"format": 99} if k == "header" else d) for k, d in contents()]
    other = folder.with_name("other")
    write(chained(changed), other)
    found = verify(other).altered
    assert found is not None
    assert (found.n, found.what) == (1, "format")


def test_a_folder_without_an_audit(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no audit"):
        verify(tmp_path)
    with pytest.raises(NotFoundError, match="no audit"):
        verify(tmp_path / "none")


def test_it_needs_neither_torch_nor_the_database(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from thinkeval.service.audit.verify import verify;"
        " assert verify(Path(sys.argv[1])).ok; print([m for m in ('torch', 'transformers', 'neo4j',"
        " 'pandas', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
