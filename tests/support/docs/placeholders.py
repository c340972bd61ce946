"""Words in capitals on a page, and the ids of what is stored that they stand for.

Each is made when the first page needs it, of the demo graph and its organism, and kept for the
pages after it. An id that a page shows as it was printed, such as `rome-harry-potter-8e4cdb0c70`,
stands for the edit of that method.
"""

from __future__ import annotations

import re
from typing import Any

from support.commands import Cli
from support.docs.blocks import PLACEHOLDER
from support.serving import ENDED, Service, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

GRAPH, REWRITE, ELSEWHERE = "hogwarts", "harry-potter--studied-at", "ron-weasley--studied-at"
PRINTED = re.compile(r"(?<![\w-])([a-z_]+)-harry-potter-[0-9a-f]{10}\b")
FEW = ("--samples", "2", "--wordings", "2")
SMALL_SET = ("--facts", "6", "--implications", "3", "--updates", "4", "--init", "shuffled")


class Placeholders:
    """Ids by name.

    Args:
        program: `thinkeval`, with the tests' database.
    """

    def __init__(self, db: Database, program: Cli, service: Service) -> None:
        self._db, self._program, self._service = db, program, service
        self._ids: dict[str, str] = {}
        self.kept: set[str] = set()
        """Records that pages may not delete at their end."""

    def replaced(self, text: str) -> str:
        """A text with ids where it has placeholders."""
        text = PLACEHOLDER.sub(lambda m: self.get(m[0]), text)
        return PRINTED.sub(lambda m: self.get(m[1]), text)

    def get(self, name: str) -> str:
        """The id that a placeholder, or the name of a method, stands for."""
        if name not in self._ids:
            self._ids[name] = self._made(name)
            self.kept |= {self._ids[name], name}
        return self._ids[name]

    def forget_deleted(self) -> None:
        """Make those edits again that a page deleted, when the next page names them."""
        stored = {
            each
            for row in self._db.read(rows.DependentsRow, "graph/dependents", graph=GRAPH)
            for each in row.edits
        }
        for name, found in list(self._ids.items()):
            if PRINTED.fullmatch(found) and found not in stored:
                del self._ids[name]

    def _made(self, name: str) -> str:
        match name:
            case "EDIT":
                return self.get("rome")
            case "OTHER":
                return self.get("memit")
            case "LATER":
                return self._json("score", ELSEWHERE, "-g", GRAPH, "-m", "rome")[0]["edit"]
            case "RULE":
                self._program("graph", "rules", "add", GRAPH, GRAPH)
                return next(
                    r.rule
                    for r in self._db.read(rows.RuleRow, "rules/list_rules")
                    if r.dataset == GRAPH
                )
            case "RUN":
                return self._json(
                    "graph", "crawl", GRAPH, "--start", "Harry Potter", "--depth", "1", *FEW
                )["run"]
            case "COEDIT":
                asked = ("lab", "coedit", REWRITE, "-g", GRAPH, "-m", "rome", "--rounds", "1")
                return self._json(*asked)["id"]
            case "SET":
                return self._json("lab", "depedit", "build", "atlas", *SMALL_SET)["sets"][0]["id"]
            case "SWEEP":
                body = {"graph": GRAPH, "rewrites": [REWRITE], "methods": ["none", "rome"]}
                sweep = self._service.post("/v1/sweeps", **body)["id"]
                until(lambda: self._ended(sweep))
                return sweep
            case _:
                (score,) = self._json("score", REWRITE, "-g", GRAPH, "-m", name)
                return score["edit"]

    def _ended(self, sweep: str) -> bool:
        return self._service.get(f"/v1/sweeps/{sweep}")["status"] in ENDED

    def _json(self, *words: str) -> Any:
        return self._program(*words, "--json").json
