"""zsRE files: small ones of our own in the layout of zsre_mend_eval.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats
from thinkeval.loaders.errors import SchemaError
from thinkeval.loaders.records import LoadedGraph

SHIP: dict[str, Any] = {
    "subject": "Northern Star",
    "src": "What year was Northern Star put into service?",
    "pred": "1955",
    "rephrase": "When did Northern Star enter service?",
    "alt": "1977",
    "answers": ["1962"],
    "loc": "nq question: who wrote the song of the sea",
    "loc_ans": "A. Writer",
    "cond": "1955 >> 1977 || What year was Northern Star put into service?",
}
BRIDGE = SHIP | {
    "subject": "Old Bridge",
    "src": "Who designed Old Bridge?",
    "rephrase": "By whom was it designed?",
    "alt": "Otto",
    "answers": ["Anna", "Anna Berg"],
}


def load(tmp_path: Path, records: Any, **options: Any) -> LoadedGraph:
    path = tmp_path / "zsre_mend_eval.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return formats.load(path, **options)


def test_a_record_becomes_a_fact_and_a_request(tmp_path: Path) -> None:
    loaded = load(tmp_path, [SHIP, BRIDGE])
    assert (loaded.report.format, loaded.graph.name) == ("zsre", "zsre-mend-eval")
    assert loaded.report.kept == {"facts": 2, "entities": 6, "rewrites": 2}
    ship = next(r for r in loaded.graph.rewrites if r.subject == "Northern Star")
    assert ship.prompt == "What year was {} put into service?"
    assert ship.filled_prompt == ship.question == SHIP["src"]
    assert (ship.target_true, ship.target_new) == ("1962", "1977")
    assert ship.paraphrases == ("When did {} enter service?",)
    assert ship.relation == "what-year-was-put-into-service"
    fact = next(f for f in loaded.graph.facts if f.subject == "Northern Star")
    assert (fact.object, fact.question, fact.prompt) == ("1962", SHIP["src"], ship.prompt)


def test_the_unrelated_question_is_the_neighborhood_with_its_own_answer(tmp_path: Path) -> None:
    rewrite = load(tmp_path, [SHIP]).graph.rewrites[0]
    assert rewrite.neighbors == (("nq question: who wrote the song of the sea?", "A. Writer"),)
    bare = {key: value for key, value in SHIP.items() if key not in ("loc", "loc_ans")}
    assert load(tmp_path, [bare]).graph.rewrites[0].neighbors == ()


def test_several_answers_are_flagged_and_a_paraphrase_without_the_subject_is_found(
    tmp_path: Path,
) -> None:
    loaded = load(tmp_path, [SHIP, BRIDGE])
    bridge = next(r for r in loaded.graph.rewrites if r.subject == "Old Bridge")
    assert bridge.target_true == "Anna"
    assert bridge.paraphrases == ("By whom was it designed?",)
    flagged, (found,) = (
        [n for n in loaded.report.notes if not n.code],
        loaded.report.findings,
    )
    assert [n.where for n in flagged] == ["1 records"]
    assert (found.code, found.where) == ("subject-not-in-prompt", f"rewrite '{bridge.id}'")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"subject": "Southern Star"}, "does not name the subject 'Southern Star'"),
        ({"alt": "1962"}, "are the same"),
        ({"answers": []}, "no target_true"),
        ({"answers": "1962"}, "expected a list"),
        ({"alt": ""}, "is empty"),
        ({"src": None}, "expected text"),
        ({"loc_ans": None}, "expected text"),
    ],
)
def test_a_bad_record_is_refused_and_the_rest_is_read(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    loaded = load(tmp_path, [SHIP | change, BRIDGE])
    refused = [n for n in loaded.report.notes if n.kind == "refused"]
    assert [r.subject for r in loaded.graph.rewrites] == ["Old Bridge"]
    assert [n.where.split(",")[0] for n in refused] == ["record 0"]
    assert reason in refused[0].reason
    with pytest.raises(SchemaError, match="none of the 1 can be used"):
        load(tmp_path, [SHIP | change])


def test_prompts_that_share_a_slug_are_different_relations(tmp_path: Path) -> None:
    one = SHIP | {"src": "Who owns Northern Star?"}
    other = SHIP | {"src": "who owns Northern Star", "alt": "1978"}
    rewrites = load(tmp_path, [one, other, other | {"alt": "1979"}]).graph.rewrites
    assert sorted(r.relation for r in rewrites) == ["who-owns", "who-owns-no-2", "who-owns-no-2"]


def test_the_limit(tmp_path: Path) -> None:
    loaded = load(tmp_path, [SHIP, BRIDGE, "broken"], limit=2)
    assert loaded.report.read["records"] == len(loaded.graph.rewrites) == 2
