"""The kind of experiment `derivation`: rules mined from a graph, or its closure, made by a worker.

Both take minutes on a million facts, which a request must not. What is made is stored where the
command and the request store it too: rules with the data set, conclusions with the graph. The
record of the job has the counts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from ...loaders.records import digest, slug
from ..base.formatting import pluralize
from ..graphs import datasets
from ..models.edit import Measure, Name
from ..models.experiment import DerivationOut, What
from ..reports.formats import Column, Table
from ..rules import closure, groundings, mining
from ..rules.schemas import ClosureOptions, MiningOptions, rules_digest
from . import store
from .kind import Kind, Prepared, Work

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings
    from ..rules.store import StoredRule
    from ..scoring.runtime import Runtime


AT_ONCE = 200_000
"""Maximum number of facts that one request mines, or derives from; more are for a worker."""
REQUEST = closure.Bound(
    facts=AT_ONCE,
    groundings=20_000,
    remedy="Derive it as a job: POST /v1/derivations with this graph, `what`: conclusions and the"
    " same options; for proofs without `depth`, as they are read off the whole closure. Then ask"
    " again.",
)
"""The closure that one request derives; a larger one is for a worker, and a stored one is read."""


class DerivationIn(MiningOptions, ClosureOptions):
    """Rules to mine from a graph, or conclusions to derive in it by rules."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"graph": "hogwarts", "what": "rules", "min_support": 3}]}
    )

    graph: Name = Field(description="Id of the graph.")
    what: What = Field(
        default="rules",
        description="rules: mine candidates, with the first four options; conclusions: derive and"
        " store the closure, with the others.",
    )
    rules: list[Annotated[str, Field(max_length=64)]] = Field(
        default=[], max_length=100, description="Ids of the rules to use; default: all kept rules."
    )
    candidates: bool = Field(default=False, description="Use rules without a review too.")
    force: bool = Field(default=False, description="Do it again where it is done already.")

    def options(self) -> ClosureOptions:
        """The options of the closure alone."""
        return ClosureOptions(**{name: getattr(self, name) for name in ClosureOptions.model_fields})

    def used(self, db: Database) -> list[StoredRule]:
        """The rules that conclude; none for mining. Raises as `rules_for`."""
        if self.what == "rules":
            return []
        return groundings.rules_for(
            db, self.graph, ids=self.rules or None, candidates=self.candidates
        )


def _prepare(db: Database, settings: Settings, request: DerivationIn) -> Prepared[DerivationIn]:
    if request.what == "rules":
        datasets.get_or_import(db, request.graph)
    header = datasets.require_graph(db, request.graph, kind=None)
    about = request.model_dump(mode="json", exclude={"force"})
    content = [header.content_digest, header.n_facts, header.created_at]
    identity = digest([about, content, rules_digest(request.used(db))], 10)
    return Prepared(
        request=request,
        id=f"derivation-{request.what}-{slug(request.graph)[:40]}-{identity}",
        body=digest(about, 16),
        affinity="",
    )


def _run(runtime: Runtime, request: DerivationIn, work: Work) -> DerivationOut:
    began = time.monotonic()
    db, graph = runtime.db, request.graph
    work.enter("mining rules" if request.what == "rules" else "deriving conclusions", 0.0, 1.0)
    rules = request.used(db)
    made: dict[str, Any]
    if request.what == "rules":
        mined = mining.mine(
            db, graph, **request.model_dump(include={*MiningOptions.model_fields}),
            progress=runtime.progress, fence=work.fence,
        )  # fmt: skip
        made = {"rules": len(mined.rules), "total": mined.total, "created": mined.created}
    else:
        found = closure.closure(
            db, graph, rules, request.options(), fence=work.fence, progress=runtime.progress
        )
        made = {
            "rules": len(rules), "conclusions": len(found.conclusions),
            "groundings": len(found.groundings), "rounds": found.rounds,
        }  # fmt: skip
    out = DerivationOut(
        id=_prepare(db, runtime.settings, request).id,
        graph=graph,
        request=request.model_dump(mode="json"),
        what=request.what,
        seconds=round(time.monotonic() - began, 3),
        **made,
    )
    store.save(db, DERIVATION.name, out, edits=[], lease=work.lease)
    return out


def _is_whole(db: Database, out: DerivationOut) -> bool:
    """Return False if another closure of the graph is stored by now."""
    if out.what == "rules":
        return True
    request = DerivationIn.model_validate(out.request)
    return closure.is_stored(db, out.graph, request.used(db), request.options())


def _sentences(out: DerivationOut, measure: Measure | None = None) -> list[str]:
    if out.what == "rules":
        more = (out.total or 0) - out.rules
        left = f"; {more:,} more left out by the limits" if more else ""
        return [f"{pluralize(out.rules, 'rule')} mined, {out.created} of them new{left}."]
    return [
        f"{pluralize(out.conclusions or 0, 'conclusion')} by {pluralize(out.rules, 'rule')}"
        f" ({pluralize(out.groundings or 0, 'grounding')}), stored in the graph."
    ]


def _next(out: DerivationOut) -> list[str]:
    command = "list" if out.what == "rules" else "closure"
    return [f"thinkeval graph rules {command} {out.graph}"]


LISTED: list[Column[DerivationOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("graph", lambda out: out.graph),
    Column("what", lambda out: out.what),
    Column("rules", lambda out: out.rules),
    Column("new rules", lambda out: out.created),
    Column("conclusions", lambda out: out.conclusions),
    Column("seconds", lambda out: out.seconds, optional=1),
]

DERIVATION = Kind(
    name="derivation",
    plural="derivations",
    noun="derivation",
    about="Mines rules from a graph, or derives and stores what its rules conclude.",
    request=DerivationIn,
    result=DerivationOut,
    prepare=_prepare,
    run=_run,
    title=lambda out: f"{out.what} of {out.graph}",
    listed=LISTED,
    sentences=_sentences,
    tables=lambda out, measure: [Table("counts", "Counts", LISTED[1:], [out])],
    next=_next,
    is_whole=_is_whole,
)
