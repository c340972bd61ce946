"""The work of every reader grows with the size of its file, not with its square.

Counted are Python's calls and resumed generators, not seconds, so that a busy machine changes
nothing: twice the file takes twice the calls, four times of them where a reader is quadratic.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from thinkeval.loaders import assembly, formats, graph_yaml
from thinkeval.loaders.reading.growing_index import GrowingIndex
from thinkeval.loaders.reading.json_values import DECODER, JsonValueError, first_repeated

SIZE = 300


def calls(work: Callable[[], object]) -> int:
    """Count the calls of the work, and the resumptions of its generators."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def graph(n: int) -> str:
    """n facts, each with a rewrite whose target_true it gives."""
    facts = "".join(f"  S{i}: {{in: O{i}}}\n" for i in range(n))
    rewrites = "".join(f"  - {{subject: S{i}, relation: in, target_new: N{i}}}\n" for i in range(n))
    return f"relations: {{in: {{prompt: '{{}} is in'}}}}\nfacts:\n{facts}rewrites:\n{rewrites}"


def knowgic(n: int) -> str:
    """n records, each with its own rewrite."""

    def record(i: int) -> dict[str, object]:
        link = {
            "questions": ["q"],
            "answers": [f"O{i}"],
            "prompts": ["{} is in"],
            "subjects": [f"S{i}"],
        }
        rewrite = {"subject": f"S{i}", "prompt": "{} is in"}
        targets = {"target_true": {"str": f"O{i}"}, "target_new": {"str": f"N{i}"}}
        return {"requested_rewrite": [rewrite | targets], "chain": link, "broader_context": link}

    return json.dumps([record(i) for i in range(n)])


def counterfact(n: int) -> str:
    """n records that want the same edit in other words, under the same number."""
    rewrite = {"subject": "S", "relation_id": "in", "prompt": "{} is in"}
    targets = {"target_true": {"str": "O"}, "target_new": {"str": "N"}}
    records = [
        {"case_id": 1, "requested_rewrite": rewrite | targets, "paraphrase_prompts": [f"S {i}"]}
        for i in range(n)
    ]
    return json.dumps(records)


def mquake(n: int) -> str:
    """n cases of one edit under one id, the same entities in all."""

    def case(i: int) -> dict[str, object]:
        edit = {"subject": "S", "relation_id": "in", "prompt": "{} is in"}
        targets = {"target_true": {"str": f"O{i}"}, "target_new": {"str": "N"}}
        hop = {
            "cloze": "S is in",
            "question": "In what is S?",
            "answer": "O",
            "answer_alias": [f"A{i}"],
        }
        orig = {"triples": [["a", "in", "b"]], "triples_labeled": [["S", "is in", "O"]]}
        return {
            "case_id": 1,
            "requested_rewrite": [edit | targets],
            "questions": ["?"],
            "answer": "O",
            "new_answer": "N",
            "single_hops": [hop],
            "new_single_hops": [hop],
            "orig": orig | {f"new_{key}": value for key, value in orig.items()},
        }

    return json.dumps({"data": [case(i) for i in range(n)]})


def knowedit(n: int) -> str:
    """n records with questions, as JSON lines."""
    asked = {"R": [{"prompt": "Where?", "ground_truth": [["a", "b"]]}] * 3}
    return "\n".join(
        json.dumps(
            {"subject": f"S{i}", "prompt": f"S{i} is in", "target_new": "N", "ground_truth": "O"}
            | {"portability": asked, "locality": {}}
        )
        for i in range(n)
    )


def easyedit(n: int) -> str:
    """n results about the records of `knowedit`."""
    results = {"rewrite_acc": [0.5], "portability": {"R_acc": [0, 0.5, 1]}}
    return "\n".join(
        json.dumps({"requested_rewrite": json.loads(line), "pre": results, "post": results})
        for line in knowedit(n).splitlines()
    )


def ripple_edits(n: int) -> str:
    """n records of one relation, whose words are those of the file."""

    def record(i: int) -> dict[str, object]:
        fact = {"subject_id": f"Q{i}", "relation": "in"}
        asked = {"prompt": f"Name of S{i} is", "answers": [{"value": "a", "aliases": []}]}
        old = fact | {"prompt": f"Name of S{i} is O.", "target_id": "O"}
        edit = fact | {"prompt": f"Name of S{i} is N.", "target_id": "N", "original_fact": old}
        test = {"test_queries": [asked | fact | {"query_type": "regular"}]}
        return {"example_type": "popular", "edit": edit, "Forgetfulness": [test]}

    return json.dumps([record(i) for i in range(n)])


def tofu(n: int) -> str:
    """n questions about one author."""
    return "\n".join(
        json.dumps({"question": f"What is work {i} of Mira Sol?", "answer": f"It is {i}."})
        for i in range(n)
    )


def rwku(n: int) -> str:
    """n probes about one person; half of them are adversarial about one fact."""
    about = {"subject": "Mira Sol", "answer": "Ulm"}
    probes = [about | {"level": "2", "query": f"Question {i} on Mira Sol?"} for i in range(n // 2)]
    return json.dumps(
        probes + [about | {"level": "3", "query": f"Play {i}!"} for i in range(n // 2)]
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.yaml", graph),
        ("chains.json", knowgic),
        ("c.json", counterfact),
        ("m.json", mquake),
        ("k.jsonl", knowedit),
        ("e.json", easyedit),
        ("r.json", ripple_edits),
        ("t.json", tofu),
        ("w.json", rwku),
    ],
)
def test_twice_the_file_is_twice_the_work(
    tmp_path: Path, name: str, text: Callable[[int], str]
) -> None:
    def work(n: int) -> int:
        path = tmp_path / name
        path.write_text(text(n), encoding="utf-8")
        return calls(lambda: formats.load(path))

    work(10)  # What is imported or compiled at first use counts once.
    assert work(2 * SIZE) < 2.6 * work(SIZE)


def test_twice_the_rewrites_beside_triples_is_twice_the_work(tmp_path: Path) -> None:
    def work(n: int) -> int:
        folder = tmp_path / str(n)
        folder.mkdir()
        rows = "".join(f"S{i},in,O{i}\n" for i in range(n))
        (folder / "t.csv").write_text(f"Entity,Relationship,Attribute\n{rows}", encoding="utf-8")
        rewrites = "".join(
            f"- {{subject: S{i}, relation: in, target_new: N{i}}}\n" for i in range(0, n, 2)
        )
        (folder / "rewrites.yaml").write_text(rewrites, encoding="utf-8")
        base = "".join(f"S{i}->O{i},in\n" for i in range(0, n, 2))
        (folder / "base_triple.csv").write_text(f"Attributes,Relationships\n{base}", "utf-8")
        return calls(lambda: formats.load(folder / "t.csv"))

    work(10)
    assert work(2 * SIZE) < 2.6 * work(SIZE)


class Counted(str):
    """A key that counts its comparisons."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_repeated_key_is_found_in_one_pass() -> None:
    keys = [Counted(f"k{i}") for i in range(SIZE)]
    Counted.compared = 0
    assert first_repeated([*keys, Counted("k7"), Counted("k3")]) == "k7"
    assert first_repeated(keys) is None
    assert Counted.compared < SIZE / 2
    pairs = ",".join(f'"k{i}": 1' for i in range(SIZE))
    with pytest.raises(JsonValueError, match="key 'k299'"):
        DECODER.decode(f'{{{pairs}, "k299": 2}}')


def test_index_looks_at_every_item_once() -> None:
    looked: list[int] = []

    def parity(number: int) -> int:
        looked.append(number)
        return number % 2

    numbers: list[int] = []
    index = GrowingIndex(numbers, parity)
    for number in range(100):
        numbers.append(number)
        assert index[number % 2][-1] == number
    assert looked == numbers
    assert index[2] == ()


def test_search_for_chains_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long path, and rewrites that no chain leads to: each search passes all of it."""
    path = tmp_path / "g.yaml"
    facts = "".join(f"  S{i}: {{in: S{i + 1}}}\n" for i in range(50))
    rewrites = "".join(
        f"  - {{subject: S{i}, relation: in, target_true: X, target_new: N{i}}}\n" for i in range(5)
    )
    facts += "  Z: {in: X}\n"
    path.write_text(
        f"relations: {{in: {{prompt: '{{}} is in'}}}}\nfacts:\n{facts}rewrites:\n{rewrites}",
        encoding="utf-8",
    )
    notes = [n for n in graph_yaml.load(path).report.notes if "no chain leads" in n.reason]
    assert len(notes) == 5
    monkeypatch.setattr(assembly, "SEARCH_STEPS", 80)
    notes = graph_yaml.load(path).report.notes
    assert [n.where for n in notes if "no chain leads" in n.reason] == [
        "rewrite 's0--in--n0'",
        "rewrite 's1--in--n1'",
    ]
    assert [n.where for n in notes if "not checked for a chain" in n.reason] == ["3 rewrites"]
