"""What users install: the wheel is built, installed beside nothing of the tree, and used."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("service", "cypher", "editing", "loaders")


@dataclass(frozen=True)
class Installed:
    """A virtual environment that has our wheel and, for everything else, this one's packages."""

    home: Path

    def execute(
        self, program: str, *args: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment from /, as far from the tree as can be."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.run(
            [str(self.home / "bin" / program), *args],
            cwd="/",
            env=clean | (env or {}),
            capture_output=True,
            text=True,
            timeout=120,
        )

    def python(self, code: str) -> str:
        done = self.execute("python", "-W", "error", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), ROOT],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return next(out.glob("thinkeval-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    # The dependencies are this environment's. Its own .pth files, and with them an editable
    # installation of the tree, do not count where only a path is added.
    site = next((home / "lib").glob("python*/site-packages"))
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "dependencies.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return Installed(home)


def test_every_file_of_the_four_packages_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.split("/")[0] in PACKAGES}
    tree = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == tree
    for needed in (
        "cypher/metrics/ifr.cypher",
        "cypher/embedded/neo4j.lock",
        "loaders/graphs/hogwarts.yaml",
        "editing/hparams/rome/gpt2-xl.json",
    ):
        assert needed in packed


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_installed_packages_are_those_of_the_wheel(installed: Installed) -> None:
    code = "import service, cypher, editing, loaders as l\n"
    code += "print(*(m.__file__ for m in (service, cypher, editing, l)), sep='\\n')"
    for line in installed.python(code).splitlines():
        assert Path(line).is_relative_to(installed.home)


def test_queries_and_methods_are_found_from_anywhere(installed: Installed) -> None:
    listed = installed.execute("thinkeval", "queries")
    assert (listed.returncode, listed.stderr) == (0, "")
    for path in (ROOT / "cypher").glob("*/*.cypher"):
        is_part = path.stem.startswith("_")
        assert (f"{path.parent.name}/{path.stem}" in listed.stdout) is not is_part
    ifr = installed.execute("thinkeval", "queries", "metrics/ifr")
    assert "Indirect Fact Recovery" in ifr.stdout
    assert "SHORTEST 5 GROUPS" in ifr.stdout  # of the part chains/_paths
    methods = installed.execute("thinkeval", "methods", "--json")
    assert (methods.returncode, methods.stderr) == (0, "")
    for name in ("rome", "memit", "fine_tuning", "none", "gpt2-xl"):
        assert f'"{name}"' in methods.stdout


def test_data_that_ships_with_us_is_read_from_the_wheel(installed: Installed) -> None:
    code = (
        "from thinkeval.service import ingest\n"
        "from thinkeval.cypher.embedded.lock import LOCK_FILE\n"
        "import thinkeval.editing.hparams as h\n"
        "print(len(ingest.read('hogwarts').graph.facts), LOCK_FILE.stat().st_size)\n"
        "print(*(h.load(m, n).layers for m in ('rome', 'memit') for n in h.available(m)))\n"
    )
    sizes, layers = installed.python(code).splitlines()
    assert all(int(size) >= 80 for size in sizes.split())
    assert layers.startswith("(")


def test_another_package_of_the_same_name_is_noticed(installed: Installed, tmp_path: Path) -> None:
    foreign = tmp_path / "loaders"
    foreign.mkdir()
    (foreign / "__init__.py").write_text("", encoding="utf-8")
    done = installed.execute("thinkeval", "--version", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "'loaders'" in last
    assert str(foreign) in last
    assert "virtual environment of its own" in last
