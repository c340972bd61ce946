"""Installation by users: the wheel is built, installed beside nothing of the tree, and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("service", "cypher", "editing", "loaders")
PUBLIC = "service/public/"

FOREIGN_PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "foreign"
version = "1"
scripts = {{ foreign = "service:main" }}

[tool.setuptools]
packages = {packages}
"""


@dataclass(frozen=True)
class Installed:
    """A virtual environment that has our wheel and, for everything else, this one's packages."""

    home: Path

    def install(self, wheel: Path) -> None:
        python = str(self.home / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
        options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
        subprocess.run([*pip, "install", *options, str(wheel)], check=True)

    def execute(self, program: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment from /, as far from the tree as can be."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.run(
            [str(self.home / "bin" / program), *args],
            cwd="/",
            env=clean,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def python(self, code: str) -> str:
        done = self.execute("python", "-W", "error", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def built(tree: Path, out: Path) -> Path:
    """The wheel of a source tree, made with this environment's setuptools."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), tree],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def environment(home: Path) -> Installed:
    """A virtual environment with this one's packages, but for those installed from a tree."""
    venv.create(home, with_pip=False, symlinks=True)
    # Neither .pth files nor, with them, an editable installation count where only a path is added.
    site = next((home / "lib").glob("python*/site-packages"))
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "dependencies.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return Installed(home)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools packs again what an earlier build left beside the sources."""
    tree = tmp_path_factory.mktemp("source")
    for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return built(tree, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    made = environment(tmp_path_factory.mktemp("installed") / "venv")
    made.install(wheel)
    return made


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a project whose packages have the names of our folders."""
    tree = tmp_path_factory.mktemp("foreign")
    for folder in FOLDERS:
        (tree / folder).mkdir()
        code = f'def main():\n    print("the foreign {folder}")\n'
        (tree / folder / "__init__.py").write_text(code, encoding="utf-8")
    text = FOREIGN_PROJECT.format(packages=list(FOLDERS))
    (tree / "pyproject.toml").write_text(text, encoding="utf-8")
    return built(tree, tmp_path_factory.mktemp("foreign-wheel"))


def in_wheel(path: str) -> str:
    """Return the path in the wheel of a file of the tree."""
    if path.startswith(PUBLIC):
        return f"thinkeval/{path.removeprefix(PUBLIC)}"
    return f"thinkeval/{path}"


def test_every_file_of_the_four_folders_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("thinkeval/")}
    tree = {
        in_wheel(path.relative_to(ROOT).as_posix())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == tree
    for needed in (
        "thinkeval/__init__.py",
        "thinkeval/cypher/metrics/ifr.cypher",
        "thinkeval/cypher/embedded/neo4j-5.26.lock",
        "thinkeval/cypher/embedded/neo4j-2026.08.lock",
        "thinkeval/loaders/graphs/hogwarts.yaml",
        "thinkeval/editing/hparams/rome/gpt2-xl.json",
        "thinkeval/service/web/templates/base.html",
        "thinkeval/service/states/templates/audit.html",
        "thinkeval/service/states/templates/audit.css",
    ):
        assert needed in packed


def test_the_only_top_level_name_is_the_projects(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"thinkeval"}


def test_the_installed_packages_are_those_of_the_wheel(installed: Installed) -> None:
    code = "import thinkeval\nfrom thinkeval import service, cypher, editing, loaders as l\n"
    code += "print(*(m.__file__ for m in (thinkeval, service, cypher, editing, l)), sep='\\n')"
    for line in installed.python(code).splitlines():
        assert Path(line).is_relative_to(installed.home)


def test_queries_and_methods_are_found_from_anywhere(installed: Installed) -> None:
    listed = installed.execute("thinkeval", "db", "queries")
    assert (listed.returncode, listed.stderr) == (0, "")
    for path in (ROOT / "cypher").glob("*/*.cypher"):
        is_part = path.stem.startswith("_")
        assert (f"{path.parent.name}/{path.stem}" in listed.stdout) is not is_part
    ifr = installed.execute("thinkeval", "db", "queries", "metrics/ifr")
    assert "Indirect Fact Recovery" in ifr.stdout
    assert "USING JOIN ON x" in ifr.stdout  # of the part chains/_paths
    methods = installed.execute("thinkeval", "model", "methods", "--json")
    assert (methods.returncode, methods.stderr) == (0, "")
    for name in ("rome", "memit", "fine_tuning", "none", "gpt2-xl"):
        assert f'"{name}"' in methods.stdout


def test_data_that_ships_with_us_is_read_from_the_wheel(installed: Installed) -> None:
    code = (
        "from thinkeval.service.graphs import datasets\n"
        "from thinkeval.cypher.embedded.lock import lock_file\n"
        "import thinkeval.editing.hparams as h\n"
        "print(len(datasets.read('hogwarts').graph.facts), lock_file().stat().st_size)\n"
        "print(*(h.load(m, n).layers for m in ('rome', 'memit') for n in h.available(m)))\n"
    )
    sizes, layers = installed.python(code).splitlines()
    assert all(int(size) >= 80 for size in sizes.split())
    assert layers.startswith("(")


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "the other first"])
def test_a_project_with_packages_of_our_folders_names_runs_beside_us(
    wheel: Path, foreign: Path, tmp_path: Path, ours_first: bool
) -> None:
    beside = environment(tmp_path / "venv")
    for each in (wheel, foreign) if ours_first else (foreign, wheel):
        beside.install(each)
    for folder in FOLDERS:
        code = f"import {folder}; from thinkeval import {folder} as ours; {folder}.main();"
        code += f"print(ours.__name__, hasattr(ours, 'main'), {folder} is ours)"
        told = beside.python(code).splitlines()
        assert told == [f"the foreign {folder}", f"thinkeval.{folder} False False"]
    assert beside.execute("foreign").stdout == "the foreign service\n"
    version = beside.execute("thinkeval", "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert version.stdout.startswith("thinkeval ")
    ifr = beside.execute("thinkeval", "db", "queries", "metrics/ifr")
    assert "Indirect Fact Recovery" in ifr.stdout
