"""Files of users that were made to harm: each ends in bounded time with an error of one line.

Files of data are read in a process of its own (`datasets.read_apart`), files of settings up to a
mebibyte only (`small_text`), and parts of a backup up to the size that its manifest says.
"""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.commands import PROGRAM
from thinkeval.editing import hparams
from thinkeval.editing.covariance import published
from thinkeval.editing.covariance.texts import TextFile
from thinkeval.editing.deltas import files
from thinkeval.loaders import depedit
from thinkeval.service.base import backup
from thinkeval.service.base.errors import KNOWN_ERRORS, UsageError, in_one_line
from thinkeval.service.cli import sweep
from thinkeval.service.graphs.datasets import read, read_apart
from thinkeval.service.growth import review
from thinkeval.service.reports.formats import Column, Table, joined
from thinkeval.service.rules import mining
from thinkeval.service.scoring import forget
from thinkeval.service.states import finetune, spec

TABLE = Table("t", "T", [Column("name", str)], ["a"])


def apart(call: Callable[..., Any]) -> Callable[[Path], Any]:
    return lambda path: read_apart(call, path)


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "data set": (".yaml", read),
    "triples": (".csv", read),
    "rules": (".yaml", mining._read),
    "knowledge sets": (".jsonl", apart(depedit.read)),
    "decisions": (".csv", apart(partial(review.read_file, by="a"))),
    "pairs to retain": (".jsonl", apart(forget.read)),
    "pairs to learn": (".jsonl", apart(finetune.read)),
    "table to join": (".csv", lambda path: joined(TABLE, path)),
    "hyperparameters": (".json", hparams.read),
    "hyperparameters as YAML": (".yaml", hparams.read),
    "sweep": (".yaml", lambda path: sweep._of_file(path, [])),
    "saved update": (".safetensors", files.load),
    "corpus": (".jsonl", lambda path: list(TextFile(path))),
    "published covariance": (".npz", published._arrays),
    "states": (".txt", lambda path: spec._lines(f"@{path}")),
}
LIMIT_S = 120.0


def deep(path: Path) -> None:
    path.write_text("[" * 1_000_000, "utf-8")


def latin(path: Path) -> None:
    path.write_bytes("subject,relation,object\nZürich,liegt in,Schweiz\n".encode("latin-1"))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


READ = {("triples", latin), ("text", deep), ("states", deep)}
"""Tables may be in Latin-1, as spreadsheets save them; plain text is not nested."""


def refused(call: Callable[[], Any]) -> str:
    begun = time.monotonic()
    with pytest.raises(KNOWN_ERRORS) as caught:
        call()
    assert time.monotonic() - begun < LIMIT_S
    told = in_one_line(caught.value)  # type: ignore[arg-type]
    assert "\n" not in told
    assert len(told) < 1000
    return told


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (kind, make)
        for kind in READERS
        for make in (deep, latin, pipe, endless)
        if (kind, make) not in READ
    ],
)
def test_a_hostile_file_is_an_error_of_one_line(
    tmp_path: Path, kind: str, make: Callable[[Path], None]
) -> None:
    suffix, reader = READERS[kind]
    path = tmp_path / f"own{suffix}"
    make(path)
    told = refused(lambda: reader(path))
    assert path.name in told
    if make in (pipe, endless):
        assert "a pipe, a socket or a device" in told


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of 200 MB without an end of line."""
    path = tmp_path_factory.mktemp("long") / "line"
    with path.open("wb") as out:
        for _ in range(200):
            out.write(b"x" * 2**20)
    yield path
    path.unlink()


@pytest.mark.parametrize("kind", READERS)
def test_a_line_of_200_mb_is_an_error_of_one_line(tmp_path: Path, kind: str, line: Path) -> None:
    suffix, reader = READERS[kind]
    path = tmp_path / f"own{suffix}"
    path.symlink_to(line)
    refused(lambda: reader(path))


@pytest.mark.parametrize("command", ["import {}", "graph grow decide run {} --as ann"])
def test_the_program_says_it_in_one_line_with_status_2(tmp_path: Path, command: str) -> None:
    path = tmp_path / "own.csv"
    pipe(path)
    done = subprocess.run(
        [PROGRAM, *command.format(path).split()], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 2, done.stderr
    assert "a pipe, a socket or a device" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def bomb(path: Path, manifest: bytes, nodes: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in ((backup.MANIFEST, manifest), (backup.NODES, nodes)):
            archive.writestr(name, body)


def test_a_backup_is_not_unpacked_beyond_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_LONGEST", 2**20)
    path = tmp_path / "own.zip"
    bomb(path, b" " * 2**21, b"")
    with pytest.raises(UsageError, match="is no whole backup"), backup.opened(path):
        pass
    told = []

    class Archive:
        @staticmethod
        def open(name: str) -> Any:
            return zipfile.ZipFile(path).open(backup.MANIFEST)

    made = backup.Backup(path, Archive(), None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 1,048,576 bytes"):
        told.extend(made.lines(backup.NODES))
    assert not told
