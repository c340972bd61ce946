"""The types that each query is read into, by the calls in the code."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import thinkeval.cypher
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import names

ROOT = Path(thinkeval.cypher.__file__).parent.parent
ROOMS = ("cypher", "service")
SENDS = {"read", "write", "write_all", "write_implicitly", "stream", "autocommit"}
ROW_TYPE = re.compile(r"rows\.\w+|[A-Z]\w+|int|str|float|bool|dict")
QUERY = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")
RAW = "cypher/migrations.py"
"""The file that reads columns by name, before the database is known to be one of ThinkEval."""
PASS_ON = {"cypher/run.py", "cypher/sending.py"}
"""Files that call queries by a name they were given, or make it (BUILT)."""
BUILT: dict[str, type[Any]] = {
    "chains/metrics": rows.ChainMetricRow,
    **dict.fromkeys(names("metrics/"), rows.MetricRow),
}
"""Queries that are called by a name which is no literal."""


def read_into(name: str) -> list[type[Any]]:
    """Return the types that a query's rows are read into."""
    built = [BUILT[name]] if name in BUILT else []
    return [*dict.fromkeys([*built, *_calls().get(name, ())])]


@cache
def _calls() -> dict[str, list[type[Any]]]:
    found: dict[str, list[type[Any]]] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            within, tree = path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))
            for row_type, name in _pairs(within, tree) if within.as_posix() != RAW else ():
                found.setdefault(name, []).append(row_type)
    return found


def _pairs(path: Path, tree: ast.Module) -> Iterator[tuple[type[Any], str]]:
    """Yield row type and query wherever a call has them side by side."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = False
        for first, second in zip(node.args, node.args[1:], strict=False):
            is_type = ROW_TYPE.fullmatch(ast.unparse(first))
            if is_type and isinstance(second, ast.Constant) and QUERY.fullmatch(str(second.value)):
                named = True
                where = f"{path}:{node.lineno}"
                assert second.value in names(), f"{where}: there is no query {second.value}"
                yield _evaluate(path, tree, first), str(second.value)
        sends = getattr(node.func, "attr", "") in SENDS
        if sends and not named and node.args and ROW_TYPE.fullmatch(ast.unparse(node.args[0])):
            assert path.as_posix() in PASS_ON, f"{path}:{node.lineno} names no query"


def _evaluate(path: Path, tree: ast.Module, node: ast.expr) -> Any:
    """Return the class that an expression such as `rows.ChainRow` is in a module."""
    if isinstance(node, ast.Attribute):
        return getattr(_evaluate(path, tree, node.value), node.attr)
    assert isinstance(node, ast.Name), f"{path}:{node.lineno}: a row type is named"
    package = ["thinkeval", *path.with_suffix("").parts]
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):
            for alias in each.names:
                if (alias.asname or alias.name) == node.id:
                    above = package[: -each.level] if each.level else []
                    module = import_module(".".join([*above, *filter(None, [each.module])]))
                    return getattr(module, alias.name)
    own = any(isinstance(each, ast.ClassDef) and each.name == node.id for each in tree.body)
    return getattr(import_module(".".join(package)) if own else builtins, node.id)
