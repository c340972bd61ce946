"""The pre-edit audit of the organism: against its own probe of every fact, by the command."""

from __future__ import annotations

from pathlib import Path

from support.commands import Cli
from thinkeval.editing.probe import ProbeItem, ProbeSettings, probe
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def test_the_organism_is_audited_by_the_command(
    runtime: Runtime, organism: RuntimeModel, hogwarts: str, server: dict[str, str], tmp_path: Path
) -> None:
    args = ("model", "audit-knowledge", hogwarts, "--model", organism.source, "--samples", "2")
    found = Cli(server, tmp_path)(*args, "--json").json
    graph = datasets.stored_graph(runtime.db, hogwarts)
    settings = ProbeSettings(samples=2, ask="question", measures=("p",))
    known = []
    for fact in graph.facts:
        item = ProbeItem("x", "", fact.object, fact.question, aliases=graph.aliases(fact.object))
        [result] = probe(organism.loaded, [item], settings)
        known.append((result.p or 0) >= 0.5)
    assert found["n"] == len(graph.facts)
    assert found["counts"]["known"] == sum(known)
    assert 0 < found["counts"]["known"] < found["n"]
    assert found["counts"]["undecided"] == len(found["failures"]) == found["n"] - sum(known)
    assert "neither yes nor no" in found["note"]
    shown = Cli(server, tmp_path)(*args).out
    assert "asked for" in shown
    assert "neither yes nor no" in shown
