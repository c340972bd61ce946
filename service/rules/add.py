"""Add hand-written rules: checked and counted in the data set, with the status `kept`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...loaders import depedit
from ...loaders import rules as shipped
from ...loaders.rule_records import Rule
from ...loaders.rules_yaml import load_rules
from .mining import count
from .store import StoredRule, check, dataset_of, rules_of, save

if TYPE_CHECKING:
    from ...cypher.run import Database


def add_file(
    db: Database, dataset: str, file: Path, *, new_relations: bool = False
) -> tuple[list[StoredRule], int]:
    """Add the rules of a YAML file, of DepEdit's JSONL, or of a bundled graph by its name.

    Raises:
        LoaderError: neither loaders/rules_yaml.py nor loaders/depedit.py can read the file.
        ServiceError: as `add`.
    """
    bundled = None if file.exists() else shipped.path(str(file))
    return add(db, dataset, _read(bundled or file), new_relations=new_relations)


def _read(file: Path) -> Sequence[Rule]:
    if file.suffix.lower() != ".jsonl":
        return load_rules(file)
    found = (one.rule for one in depedit.read(file, strict=True).sets)
    return list({rule.id: rule for rule in found}.values())


def add(
    db: Database, dataset: str, rules: Sequence[Rule], *, new_relations: bool = False
) -> tuple[list[StoredRule], int]:
    """Add rules to the data set of a graph: the stored rules, and the number of new ones.

    Raises:
        NotFoundError: no such data set, or no fact has a relation (suggests similar ones).
        UsageError: no entity has a kind.
    """
    of = dataset_of(db, dataset)
    check(db, of, *rules, new_relations=new_relations)
    created = save(db, of, count(db, of, rules), status="kept").created
    return rules_of(db, of, ids=[rule.id for rule in rules]), created
