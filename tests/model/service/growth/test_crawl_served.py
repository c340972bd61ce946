"""A crawl over the wire: an organism behind `transformers serve`; the graph is scored."""

from __future__ import annotations

import json

import pytest

from support.endpoints.model_server import ModelServer
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.cli.main import main
from thinkeval.service.scoring.runtime import RuntimeModel

pytestmark = pytest.mark.heavy

SEED = "Harry Potter|studied at|Hogwarts School of Witchcraft and Wizardry"
CHAINS = 20


def test_at_least_twenty_chains_and_a_score(
    db: Database,
    server: dict[str, str],
    organism: RuntimeModel,
    served_organism: ModelServer,
    graph_id: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def thinkeval(*arguments: str) -> object:
        with pytest.raises(SystemExit) as stop:
            main([*arguments, "--json"])
        told = capsys.readouterr()
        assert not stop.value.code, told.err
        return json.loads(told.out)

    for name, value in server.items():
        monkeypatch.setenv(name, value)
    start = ["graph", "grow", "start", "--seed", SEED, "--graph", graph_id, "--elicit", "crawl"]
    where = ["--endpoint", served_organism.url, "--model", served_organism.model]
    few = ["--greedy", "--set", "wordings=1", "--chains", str(CHAINS)]
    grown = thinkeval(*start, *where, *few)
    assert isinstance(grown, dict)
    table = grown["iterations"]
    assert table[-1]["paths"] >= CHAINS
    # Some questions find out what the server is able to do; every other answer is stored.
    stored = sum(row.calls for row in db.read(rows.UsageRow, "growth/usage", run=grown["id"]))
    assert grown["calls"] == table[-1]["calls"] == stored
    rewrite = "harry-potter--studied-at--ilvermorny-school-of-witchcraft-and-wizardry"
    score = ["score", rewrite, "--graph", graph_id, "--model", organism.source, "--method", "none"]
    score += ["--samples", "0"]
    assert graph_id in json.dumps(thinkeval(*score))
    db.autocommit(int, "growth/delete_run", id=grown["id"])
