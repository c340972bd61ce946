"""The shape of the tree: files of one subject, docstrings that are true.

Layers, circles and the home of each library are import-linter contracts (pyproject.toml); this file
holds what import-linter does not see.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from functools import cache
from io import StringIO
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("service", "cypher", "editing", "loaders")
ROOMS_OF_SERVICE = 18
"""16 of the house, and the engines that start workers."""
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
NAME = re.compile(r"`((?:thinkeval\.)?(?:service|cypher|editing|loaders)(?:\.[A-Za-z_]\w*)+)`")
FILE = re.compile(r"`((?:service|cypher|editing|loaders)/[\w./*{},-]+)`")


def sources() -> list[Path]:
    return sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))


@cache
def trees() -> list[tuple[str, str, ast.Module]]:
    texts = [(path, path.read_text(encoding="utf-8")) for path in sources()]
    return [(path.relative_to(ROOT).as_posix(), text, ast.parse(text)) for path, text in texts]


def code_lines(text: str, tree: ast.Module) -> int:
    """The lines that hold code: no comments, docstrings or blank lines."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, described) and ast.get_docstring(node, clean=False) is not None:
            prose |= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    code = {
        line
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - prose)


def test_no_room_is_above_its_budget() -> None:
    """Who needs more lines changes `budget.toml`, and says in the commit what went elsewhere."""
    budget = tomllib.loads((ROOT / "budget.toml").read_text(encoding="utf-8"))
    found: Counter[tuple[str, str]] = Counter()
    for name, text, tree in trees():
        package, *rest = name.split("/")
        found[package, rest[0] if len(rest) > 1 else "files"] += code_lines(text, tree)
    allowed = {(package, room): n for package, rooms in budget.items() for room, n in rooms.items()}
    assert found.keys() == allowed.keys()
    assert {room: n for room, n in found.items() if n > allowed[room]} == {}


def test_every_file_opens_with_what_it_is_for() -> None:
    problems = []
    for name, _, tree in trees():
        doc = ast.get_docstring(tree)
        if not doc:
            problems.append(f"{name}: no docstring")
        elif "TODO" in doc:
            problems.append(f"{name}: unfinished docstring")
    assert problems == []


def test_no_module_only_passes_names_on() -> None:
    """A file that only imports from another room keeps an old address alive."""
    problems = []
    for name, _, tree in trees():
        if name.endswith("__init__.py"):
            continue
        code = [n for n in tree.body if not isinstance(n, ast.Expr)]
        if code and all(isinstance(n, ast.Import | ast.ImportFrom) for n in code):
            problems.append(name)
    assert problems == []


def _module_of(parts: list[str]) -> tuple[Path, list[str]] | None:
    """The file that a dotted name leads to, and the names that are left to find in it."""
    for end in range(len(parts), 0, -1):
        stem = ROOT.joinpath(*parts[:end])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.is_file():
                return path, parts[end:]
        if stem.is_dir() and end == len(parts):
            return stem, []
    return None


def _defined(path: Path, names: list[str]) -> bool:
    if not names:
        return True
    body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for name in names:
        for node in body:
            if isinstance(node, ast.If):
                body = [*body, *node.body]
        match = next((n for n in body if name in _bound(n)), None)
        if match is None:
            return False
        body = match.body if isinstance(match, ast.ClassDef) else []
        if not body:
            return True
    return True


def _bound(node: ast.stmt) -> set[str]:
    """The names a statement binds; attributes that a method sets on self are its class's."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign):
        return {
            n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)
        }
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def test_dotted_names_in_docstrings_and_comments_resolve() -> None:
    problems = []
    for name, text, _ in trees():
        for match in NAME.finditer(text):
            parts = match[1].removeprefix("thinkeval.").split(".")
            found = _module_of(parts)
            if found is None or (found[0].is_file() and not _defined(*found)):
                problems.append(f"{name}: `{match[1]}`")
        for match in FILE.finditer(text):
            path = ROOT / match[1]
            known = path.exists() or path.with_suffix(".cypher").exists()
            if not known and not any(c in match[1] for c in "*{"):
                problems.append(f"{name}: `{match[1]}`")
    assert problems == []


def test_documented_attributes_exist() -> None:
    """A name under `Attributes:` is a field, a property or an attribute set in the class."""
    problems = []
    for name, text, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and (
                documented := _attributes(ast.get_docstring(node) or "")
            ):
                source = ast.get_source_segment(text, node) or ""
                code = re.sub(r'"""[\s\S]*?"""', "", source)
                problems += [
                    f"{name}:{node.name}.{attribute}"
                    for attribute in documented
                    if not re.search(rf"\b{attribute}\b", code) and not node.bases
                ]
    assert problems == []


def _attributes(doc: str) -> list[str]:
    section = re.search(r"^Attributes:\n((?:[ ]+.*\n?|\n)+)", doc, re.MULTILINE)
    if section is None:
        return []
    names = re.findall(r"^    (\w+(?:, \w+)*):", section[1], re.MULTILINE)
    return [name for group in names for name in group.split(", ")]


def test_imports_inside_the_packages_are_relative() -> None:
    """By path: editors and type checkers follow them in a fresh clone, without an installation."""
    absolute = [
        f"{name}:{node.lineno}"
        for name, _, tree in trees()
        if not name.startswith("service/public/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("thinkeval.")
        and node.level == 0
    ]
    assert absolute == []


def test_the_only_top_level_name_is_thinkeval(tmp_path: Path) -> None:
    """Beside us, a package named `service` may be anybody's: ours is `thinkeval.service`."""
    code = f"import importlib.util as u; print([n for n in {ROOMS!r} if u.find_spec(n)])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


ALLOWED_TWINS = {
    ("cypher/rows/chains.py:ScoredChainRow", "service/rules/omega.py:MixedChainOut"): (
        "of a chain over conclusions every number may be unknown, and links have proofs"
    ),
    ("cypher/rows/jobs.py:JobRow", "service/models/experiment.py:Experiment"): (
        "request and events are JSON in the database; result and links are not the job's"
    ),
    ("cypher/rows/jobs.py:PageJobRow", "service/models/experiment.py:Experiment"): "likewise",
    ("cypher/rows/checks.py:CheckCounts", "cypher/rows/checks.py:CheckMeansRow"): (
        "means over edits have their units, and no answers; the counts are part of a score's JSON"
    ),
    ("cypher/rows/edits.py:GetEditRow", "service/models/experiment.py:EditOut"): "likewise",
    ("editing/registry.py:MethodInfo", "service/web/catalog.py:MethodOut"): (
        "editing knows no pydantic, and the files of hyperparameters are no part of the registry"
    ),
    ("service/graphs/requests.py:OwnRewrite", "service/models/edit.py:RewriteIn"): (
        "a command may leave out every part, and name a stored rewrite instead"
    ),
    ("service/models/edit.py:EditedFact", "service/models/edit.py:RewriteIn"): (
        "a request has bounds and may leave out parts; that of an edit is complete"
    ),
    ("service/scoring/append.py:Prompt", "service/scoring/append.py:PromptAnswers"): (
        "names, and the probability of each"
    ),
}
"""Pairs of classes with mostly the same fields, and the reason why they are two."""


def test_no_two_classes_declare_the_same_fields() -> None:
    """A query's row, the response, the client's object and the table's row are one class."""
    classes = _classes()
    found = {name: _fields(classes, name) for name in classes}
    twins = set()
    for a, b in combinations(sorted(name for name in found if len(found[name]) >= 5), 2):
        # Fields of a common base are declared once.
        shared = _bases(classes, a) & _bases(classes, b)
        once = {field for base in shared for field in found[base]}
        one, other = found[a] - once, found[b] - once
        large = max(len(one), len(other))
        if min(len(one), len(other)) >= 5 and len(one & other) >= 0.7 * large:
            twins.add((a, b))
    assert sorted(twins - ALLOWED_TWINS.keys()) == []
    assert sorted(ALLOWED_TWINS.keys() - twins) == []


Classes = dict[str, tuple[set[str], list[str]]]
"""{file:class: (own fields, bases of the same package)}."""


def _classes() -> Classes:
    out: Classes = {}
    for name, _, tree in trees():
        names = {n.name: f"{name}:{n.name}" for n in tree.body if isinstance(n, ast.ClassDef)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                folder = Path(name).parents[node.level - 1] / (node.module or "").replace(".", "/")
                for alias in node.names:
                    for path in (Path(f"{folder}.py"), folder / "__init__.py"):
                        imported = f"{path.as_posix()}:{alias.name}"
                        names.setdefault(alias.asname or alias.name, imported)
                        if (ROOT / path).is_file():
                            names[alias.asname or alias.name] = imported
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                own = {
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                    and "ClassVar" not in ast.unparse(part.annotation)
                }
                bases = [ast.unparse(b).split("[")[0].split(".")[-1] for b in node.bases]
                out[names[node.name]] = own, [names[base] for base in bases if base in names]
    return out


def _bases(classes: Classes, name: str) -> set[str]:
    """A class and all bases of it that are known."""
    known = [base for base in classes[name][1] if base in classes and base != name]
    return {name}.union(*(_bases(classes, base) for base in known))


def _fields(classes: Classes, name: str) -> set[str]:
    return set().union(*(classes[base][0] for base in _bases(classes, name)))


def test_folders_of_service_are_few_and_flat() -> None:
    """A room is one folder: a reader finds a file by room and subject."""
    service = ROOT / "service"
    folders = [
        p.relative_to(service)
        for p in service.rglob("*")
        if p.is_dir() and p.name != "__pycache__" and p != service / "public"
    ]
    assert [f.as_posix() for f in folders if len(f.parts) > 2] == []
    rooms = [f for f in folders if (service / f / "__init__.py").is_file()]
    assert len(rooms) <= ROOMS_OF_SERVICE, sorted(rooms)
