"""KnowGIC: the published files give the published counts, and bad files give clear errors."""

from __future__ import annotations

import copy
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import knowgic
from thinkeval.loaders.errors import SchemaError, UnreadableFileError
from thinkeval.loaders.records import KnowledgeGraph, RewriteRequest

HARRY = "harry-potter--studied-at--ilvermorny-school-of-witchcraft-and-wizardry"


def simple_paths(graph: KnowledgeGraph, rewrite: RewriteRequest, longest: int = 5):
    """Every simple path from subject to target_true in the rewrite's own facts, by plain search."""
    out: dict[str, set[str]] = defaultdict(set)
    for fact in graph.facts:
        if rewrite.id in fact.cases or not fact.cases:
            out[fact.subject].add(fact.object)

    def walk(path: tuple[str, ...]):
        if path[-1] == rewrite.target_true:
            yield path
        elif len(path) <= longest:
            for entity in sorted(out[path[-1]]):
                if entity not in path:
                    yield from walk((*path, entity))

    return list(walk((rewrite.subject,)))


# --- The real files -------------------------------------------------------------------------------


@pytest.fixture
def folder(data_dir: Path) -> Path:
    path = data_dir / "knowgic"
    if not path.is_dir():
        pytest.skip("KnowGIC is not among the data sets")
    return path


def test_real_counts(folder: Path) -> None:
    loaded = knowgic.load(folder)
    graph, report = loaded.graph, loaded.report
    assert report.read == {"records": 1406, "chains": 1406, "links": 5728 + 9158, "aliases": 289}
    assert report.kept == {"facts": 345, "entities": 162, "rewrites": 26}
    assert len(graph.facts) == 345
    assert len({(f.subject, f.object) for f in graph.facts}) == 343
    assert len({(f.subject, f.relation) for f in graph.facts}) == 255
    assert len({f.relation for f in graph.facts}) == 105
    assert len({f.prompt for f in graph.facts}) == 105
    assert len({q for f in graph.facts for q in f.questions}) == 277
    assert len({name for f in graph.facts for name in (f.subject, f.object)}) == 141
    assert sum(r.n_records for r in graph.rewrites) == 1406
    assert Counter(r.subject for r in graph.rewrites)["Elvis Presley"] == 2
    assert all(f.cases for f in graph.facts)
    assert graph.name == "knowgic"


def test_real_chains_are_the_simple_paths(folder: Path) -> None:
    graph = knowgic.load(folder).graph
    found = {r.id: simple_paths(graph, r) for r in graph.rewrites}
    steps = Counter(len(path) - 1 for paths in found.values() for path in paths)
    assert steps == {1: 24, 2: 108, 3: 227, 4: 428, 5: 619}
    listed: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    records = knowgic.read_records(folder / "chains.json")
    ids = knowgic.rewrite_ids(records)
    for record in records:
        names = [record.request.subject, *(link.answer for link in record.chains[0])]
        listed[ids[record.request.key]].add(tuple(names))
    assert {id_: set(paths) for id_, paths in found.items()} == dict(listed)
    bare = {r.subject for r in graph.rewrites if not any(len(p) == 2 for p in found[r.id])}
    assert bare == {"Hermione Granger", "Ron Weasley"}


def test_real_layouts_agree(folder: Path) -> None:
    flat = knowgic.load(folder / "chains.json", name="k")
    grouped = knowgic.load(folder / "chains_grouped_e31626d.json", name="k")
    assert grouped.report.read["records"] == 26
    assert grouped.report.read["chains"] == 1406
    assert flat.graph == grouped.graph
    assert flat.graph.content_digest == grouped.graph.content_digest


def test_real_import_is_repeatable(folder: Path) -> None:
    assert knowgic.load(folder) == knowgic.load(folder)


def test_real_irregularities(folder: Path) -> None:
    loaded = knowgic.load(folder)
    graph = loaded.graph
    by_id = {r.id: r for r in graph.rewrites}
    names = {entity.name for entity in graph.entities}
    assert "Baseball" in names
    assert "baseball" not in names
    assert graph.aliases("Baseball") == ("baseball",)
    assert "basketball" in names
    mark = next(r for r in graph.rewrites if r.subject == "Mark Teixeira")
    assert (mark.target_true, mark.target_new) == ("Baseball", "basketball")
    assert mark.paraphrases == ("{} is associated with",)
    assert by_id[HARRY].question == "Where did Harry Potter study?"
    assert by_id[HARRY].paraphrases == ()
    hillary = next(r for r in graph.rewrites if r.subject == "Hillary Clinton")
    assert hillary.paraphrases == ("{} is the mother of",)
    aidan = [f.prompt for f in graph.facts if f.subject == "Marc Mezvinsky" and "Aidan" in f.object]
    assert aidan == ["{} is father of", "{} is the father of"]
    snape = next(
        f for f in graph.facts if f.prompt == "{} is head of house for" and "Snape" in f.subject
    )
    assert len(snape.questions) == 2
    assert snape.question == "Which house was Professor Snape the head of?"
    bill = graph.aliases("Bill Clinton")
    assert bill.count("William Jefferson Clinton") == 1
    assert all(entity.name not in entity.aliases for entity in graph.entities)
    told = " ".join(f"{n.where} {n.reason}" for n in loaded.report.notes)
    for word in ("Baseball", "NCAA Championship", "Bill Clinton", "Snape", "Alessandra Mussolini"):
        assert word in told
    assert not loaded.report.counts()["refused"]


def test_real_broader_context(folder: Path) -> None:
    """All links that do not leave the rewrite's subject, 439 over the rewrites; asked in two
    ways, some are one fact."""
    graph = knowgic.load(folder).graph
    records = knowgic.read_records(folder / "chains.json")
    links = {
        (record.request.key, link)
        for record in records
        for link in record.links
        if link.subject != record.request.subject
    }
    assert len(links) == 439
    context = {(record.request.key, link) for record in records for link in record.context}
    assert context == links
    subjects = {r.id: r.subject for r in graph.rewrites}
    facts = {(case, f) for f in graph.facts for case in f.cases if f.subject != subjects[case]}
    once = {(key, link.subject, link.prompt, link.answer) for key, link in links}
    assert len(facts) == len(once)


# --- Small files of our own -----------------------------------------------------------------------


def part(*links: tuple[str, str, str, str]) -> dict[str, list[str]]:
    """The four lists of a chain; a link is subject, prompt, answer, question."""
    subjects, prompts, answers, questions = zip(*links, strict=True) if links else ([], [], [], [])
    return {
        "questions": list(questions),
        "answers": list(answers),
        "prompts": list(prompts),
        "subjects": list(subjects),
    }


ANNA_BEN = ("Anna", "{} knows", "Ben", "Whom does Anna know?")
BEN_CITY = ("Ben", "{} lives in", "Oslo", "Where does Ben live?")
ANNA_CITY = ("Anna", "{} has a home in", "Oslo", "Where is Anna at home?")


def record(
    *links: tuple[str, str, str, str], context: Any = (), case_id: int = 0
) -> dict[str, Any]:
    rewrite = {
        "prompt": "{} lives in",
        "subject": "Anna",
        "target_true": {"str": "oslo"},
        "target_new": {"str": "Rome"},
    }
    return {
        "case_id": case_id,
        "requested_rewrite": [rewrite],
        "chain": part(*links),
        "broader_context": part(*context),
    }


@pytest.fixture
def records() -> list[dict[str, Any]]:
    return [record(ANNA_BEN, BEN_CITY, context=[BEN_CITY]), record(ANNA_CITY, case_id=1)]


def write(tmp_path: Path, content: object, name: str = "chains.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_small_file(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    write(tmp_path, {"oslo": {"answer_alias": ["Christiania", "Oslo"]}}, knowgic.ALIASES_FILE)
    loaded = knowgic.load(write(tmp_path, records), name="small")
    graph = loaded.graph
    (rewrite,) = graph.rewrites
    assert rewrite.id == "anna--lives-in--rome"
    assert rewrite.dataset == "small"
    assert rewrite.target_true == "Oslo"
    assert rewrite.paraphrases == ("{} has a home in",)
    assert rewrite.question == "Where is Anna at home?"
    assert rewrite.n_records == 2
    assert set(graph.aliases("Oslo")) == {"oslo", "Christiania"}
    assert simple_paths(graph, rewrite) == [("Anna", "Ben", "Oslo"), ("Anna", "Oslo")]
    assert [f.relation for f in graph.facts] == ["has-a-home-in", "knows", "lives-in"]
    assert {f.cases for f in graph.facts} == {("anna--lives-in--rome",)}


def test_grouped_layout(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    flat = knowgic.load(write(tmp_path, records), name="x").graph
    grouped = copy.deepcopy(records[0])
    grouped["chains"] = [grouped.pop("chain"), records[1]["chain"]]
    assert knowgic.load(write(tmp_path, [grouped], "g.json"), name="x").graph == flat


def test_order_of_records_does_not_matter(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    one = knowgic.load(write(tmp_path, records), name="x").graph
    other = knowgic.load(write(tmp_path, records[::-1]), name="x").graph
    assert one == other


def test_aliases_from_elsewhere(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    away = write(tmp_path, {"Ben": {"answer_alias": ["Benjamin"]}}, "other.json")
    path = write(tmp_path, records)
    assert knowgic.load(path, aliases=away).graph.aliases("Ben") == ("Benjamin",)
    without = knowgic.load(path)
    assert without.graph.aliases("Ben") == ()
    assert any(knowgic.ALIASES_FILE in n.where for n in without.report.notes)


def test_two_rewrites_that_would_share_an_id(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    records[1]["requested_rewrite"][0]["target_true"]["str"] = "Bergen"
    ids = [r.id for r in knowgic.load(write(tmp_path, records)).graph.rewrites]
    assert ids == ["anna--lives-in--rome--bergen", "anna--lives-in--rome--oslo"]


def test_two_prompts_with_one_slug(tmp_path: Path) -> None:
    twin = ("Ben", "{} lives, in", "Rome", "Where?")
    graph = knowgic.load(write(tmp_path, [record(ANNA_BEN, BEN_CITY, context=[twin])])).graph
    assert len({f.relation for f in graph.facts}) == len({f.prompt for f in graph.facts}) == 3


def test_fact_about_itself_is_refused_alone(tmp_path: Path) -> None:
    loop = ("Ben", "{} knows", "ben", "Whom does Ben know?")
    loaded = knowgic.load(write(tmp_path, [record(ANNA_BEN, BEN_CITY, context=[loop])]))
    assert len(loaded.graph.facts) == 2
    (note,) = [n for n in loaded.report.notes if n.kind == "refused"]
    assert "Ben" in note.where


def test_broken_chain_is_flagged(tmp_path: Path) -> None:
    loaded = knowgic.load(write(tmp_path, [record(ANNA_BEN, ANNA_CITY)]))
    (note,) = [n for n in loaded.report.notes if "breaks" in n.reason]
    assert note.where == "record 0, chain 0, link 1"


def test_rewrite_without_chain_is_flagged(tmp_path: Path) -> None:
    loaded = knowgic.load(write(tmp_path, [record(ANNA_BEN)]))
    (note,) = (n for n in loaded.report.notes if "is the object of no fact" in n.reason)
    assert note.where == "1 rewrites"
    assert "IFR is undefined: anna--" in note.reason


@pytest.mark.parametrize(
    ("steps", "value", "where", "problem"),
    [
        (["requested_rewrite"], None, "record 1, requested_rewrite", "expected a list, found null"),
        (["requested_rewrite"], [], "record 1, requested_rewrite", "expected one rewrite, found 0"),
        (
            ["requested_rewrite", 0, "prompt"],
            "Anna lives in",
            "record 1, requested_rewrite[0], prompt",
            "needs one {} for the subject, found 0",
        ),
        (
            ["requested_rewrite", 0, "prompt"],
            "{} and {} live in",
            "record 1, requested_rewrite[0], prompt",
            "found 2",
        ),
        (
            ["requested_rewrite", 0, "target_new", "str"],
            "  ",
            "record 1, requested_rewrite[0], target_new.str",
            "is empty",
        ),
        (
            ["requested_rewrite", 0, "target_true"],
            "Oslo",
            "record 1, requested_rewrite[0], target_true",
            "expected an object, found text",
        ),
        (
            ["requested_rewrite", 0, "target_new", "str"],
            "Oslo",
            "record 1, requested_rewrite[0]",
            "are the same",
        ),
        (["chain", "answers"], "Oslo", "record 1, chain, answers", "expected a list, found text"),
        (["chain", "answers"], [], "record 1, chain", "differ in length"),
        (["chain", "answers"], [7], "record 1, chain, answers[0]", "found a number"),
        (["chain", "prompts"], ["lives"], "record 1, chain, prompts[0]", "found 0"),
        (["chain"], part(), "record 1", "a chain without links"),
        (["chains"], [], "record 1", "either 'chain'"),
        (["broader_context"], [], "record 1, broader_context", "expected an object, found a list"),
    ],
)
def test_wrong_field(
    tmp_path: Path,
    records: list[dict[str, Any]],
    steps: list[str | int],
    value: object,
    where: str,
    problem: str,
) -> None:
    place: Any = records[1]
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    path = write(tmp_path, records)
    with pytest.raises(SchemaError) as caught:
        knowgic.load(path)
    assert caught.value.where == where
    assert problem in caught.value.problem
    assert str(path) in caught.value.detail
    assert caught.value.remedy


@pytest.mark.parametrize("missing", ["requested_rewrite", "chain", "broader_context"])
def test_missing_field(tmp_path: Path, records: list[dict[str, Any]], missing: str) -> None:
    del records[1][missing]
    with pytest.raises(SchemaError, match=rf"record 1: .*'{missing}'"):
        knowgic.load(write(tmp_path, records))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "top level: the list of records is empty"),
        ("{}", "record 0: the field 'requested_rewrite' is missing (has: none)"),
        ("3", "top level: expected a list of records"),
        ("[3]", "record 0: expected an object, found a number"),
        ('[{"a": 1, "a": 2}]', "key 'a': occurs twice"),
    ],
)
def test_wrong_top_level(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        knowgic.load(write(tmp_path, content))
    assert problem in caught.value.detail


def test_truncated_anywhere(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    text = json.dumps(records)
    for end in range(1, len(text), 37):
        with pytest.raises(UnreadableFileError, match=r"chains\.json: record \d+: .* cut off"):
            knowgic.load(write(tmp_path, text[:end]))


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No such file"):
        knowgic.load(tmp_path / "nothing.json")
    with pytest.raises(UnreadableFileError, match="empty"):
        knowgic.load(write(tmp_path, " \n"))
    (tmp_path / "latin.json").write_bytes('["Zoë"]'.encode("latin-1"))
    with pytest.raises(UnreadableFileError, match=r"byte 4 \(0xEB\) is not UTF-8 text; in Latin-1"):
        knowgic.load(tmp_path / "latin.json")


@pytest.mark.parametrize(
    ("aliases", "where"),
    [
        ([], "top level"),
        ({"Ben": []}, "entity 'Ben'"),
        ({"Ben": {}}, "entity 'Ben'"),
        ({"Ben": {"answer_alias": [""]}}, "entity 'Ben', answer_alias[0]"),
    ],
)
def test_wrong_aliases(
    tmp_path: Path, records: list[dict[str, Any]], aliases: object, where: str
) -> None:
    write(tmp_path, aliases, knowgic.ALIASES_FILE)
    with pytest.raises(SchemaError) as caught:
        knowgic.load(write(tmp_path, records))
    assert caught.value.where == where
    assert knowgic.ALIASES_FILE in caught.value.detail
