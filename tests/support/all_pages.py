"""Stored content of every page of the web UI; nothing is scored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.experiments import delete_result, store_result
from support.growth_runs import candidate, grown
from support.own_graphs import hogwarts_as, own_graphs
from support.states.comparisons import comparison, sequence
from support.stored_edits import frontier, random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.models.experiment import SweepIn
from thinkeval.service.rules import store as rule_store

REWRITES = 22
"""One more than a page of the matrix and of the list of facts shows."""


@contextmanager
def all_pages(db: Database) -> Iterator[dict[str, str]]:
    """Ids of what the pages show: edits by two methods, their sweep, a co-edit, a growth run."""
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        edits = [
            store_edit(
                db, f"{prefix}-{method}-{n}", random_facts(n % 3 + 3 * place), dataset=graph,
                method=method, rewrite=f"the-rewrite-{n}",
            ).edit
            for n in range(REWRITES)
            for place, method in enumerate(("rome", "memit"))
        ]  # fmt: skip
        sweep = SweepIn(graph=graph, methods=["rome", "memit"], models=["m"], samples=0)
        ids = {"graph": graph, "rome": edits[0], "memit": edits[1], "sweep": f"{prefix}-sweep"}
        db.write(
            bool,
            "jobs/merge_sweep",
            id=ids["sweep"],
            request=sweep.model_dump_json(),
            posted_as=edits,
        )
        made = frontier(id=f"{prefix}-coedit", graph=graph)
        rounds = [r.model_copy(update={"edit": edits[i]}) for i, r in enumerate(made.rounds)]
        made = made.model_copy(update={"rounds": rounds})
        store_result(db, "coedit", made, edits[:3])
        path = rules.path("hogwarts")
        assert path is not None
        rule_store.save(db, graph, load_rules(path), status="candidate")
        with grown(db, f"{prefix}-run", [candidate(n) for n in range(3)]) as run:
            compared = comparison(id=f"{prefix}-comparison", graph=graph, edit=edits[0])
            states = sequence(id=f"{prefix}-sequence", graph=graph, edit=edits[0])
            for each in (compared, states):
                store_result(db, "comparison", each, edits[:1])
            more = {"comparison": compared.id, "sequence": states.id}
            yield ids | {"coedit": made.id, "run": run} | more
        for id in (states.id, made.id, compared.id):
            delete_result(db, id)
        db.write(int, "jobs/delete_sweep", id=ids["sweep"])
