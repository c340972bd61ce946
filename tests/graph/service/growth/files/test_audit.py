"""The audit bundle: complete, equal at each export, with digests, and without keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from support.commands import Cli
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError
from thinkeval.service.growth.export import audit_bundle
from thinkeval.service.growth.output import zipped

KEY = "sk-a-key-that-nobody-may-see"
COLUMNS = {"prompt": None, "question": "Where?", "reason": None, "tries": 1, "share": 1.0}


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    """A run with two answers, one statement, one candidate and one decision."""
    about = {"graph": graph_id, "seed": "a|r|b", "elicit": "cot", "model": "m", "prompts": "p"}
    endpoint = "m@http://user:secret@host/v1"
    db.write(bool, "growth/merge_run", id=graph_id, endpoint=endpoint, request="{}", **about)
    shared = {"query": "q", "kind": "cot", "question": "Where?", "messages": '{"form": "chat"}'}
    cost = {"finish": "stop", "seconds": 0.5, "tokens_in": 3, "tokens_out": 4}
    answers = [
        {"id": f"a{n}", "sample": n, "text": f"In b.\n{KEY}", **shared, **cost} for n in (1, 0)
    ]
    db.write(rows.WrittenRow, "growth/write_answers", run=graph_id, iteration=1, rows=answers)
    statement = {"id": "s", "text": "It is in b.", "answer": "a0", "place": 0}
    db.write(
        rows.WrittenRow,
        "growth/write_statements",
        run=graph_id,
        rows=[{**statement, "state": "parsed"}],
    )
    candidate = {
        "id": "c", "kind": "triplet", "subject": "a", "relation": "r", "object": "b", **COLUMNS,
        "state": "validated", "n_answers": 2, "iteration": 1, "place": 0, "statements": ["s"],
        "queries": ["q"], "checks": None,
    }  # fmt: skip
    db.write(rows.WrittenRow, "growth/write_candidates", run=graph_id, rows=[candidate])
    yield graph_id
    db.autocommit(int, "growth/delete_run", id=graph_id)


def lines(body: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in body.decode().splitlines()]


def test_the_bundle_has_what_the_run_rests_on(db: Database, run: str) -> None:
    files = audit_bundle(db, run)
    assert [row["id"] for row in lines(files["answers.jsonl"])] == ["a0", "a1"]
    assert lines(files["answers.jsonl"])[0]["messages"] == {"form": "chat"}
    [statement] = lines(files["statements.jsonl"])
    assert (statement["answers"], statement["candidates"]) == (["a0"], ["c"])
    [candidate] = lines(files["candidates.jsonl"])
    assert (candidate["state"], candidate["statements"]) == ("validated", ["It is in b."])
    assert lines(files["decisions.jsonl"]) == []
    assert json.loads(files["run.json"])["seed"] == "a|r|b"


def test_every_file_has_its_digest_and_two_zips_are_equal(db: Database, run: str) -> None:
    files = audit_bundle(db, run)
    listed = dict(
        reversed(line.split("  ")) for line in files["sha256sums.txt"].decode().splitlines()
    )
    assert set(listed) == set(files) - {"sha256sums.txt"}
    assert all(hashlib.sha256(files[name]).hexdigest() == sum_ for name, sum_ in listed.items())
    assert zipped(files) == zipped(dict(reversed(audit_bundle(db, run).items())))


def test_no_key_and_no_password_is_in_it(
    db: Database, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert KEY.encode() in zipped(audit_bundle(db, run))
    monkeypatch.setenv("THINKEVAL_LLM_API_KEY", KEY)
    body = zipped(audit_bundle(db, run))
    assert KEY.encode() not in body
    assert b"secret" not in body
    assert json.loads(audit_bundle(db, run)["run.json"])["endpoint"] == "m@http://host/v1"


def test_an_unknown_run_is_named_with_close_ones(db: Database, run: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        audit_bundle(db, run[:-1])
    assert run in caught.value.suggestions


def test_the_command_writes_the_bundle_as_one_zip(
    run: str, server: dict[str, str], tmp_path: Path
) -> None:
    here = Cli(server, tmp_path)
    done = here(
        "graph", "grow", "export", run, "--format", "audit", "-o", tmp_path / "run.zip", "--json"
    )
    with ZipFile(tmp_path / "run.zip") as archive:
        assert archive.namelist() == sorted(done.json["files"])
        assert archive.testzip() is None
