"""Damaged files of every format: each is read, or refused by an error of the loaders."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkeval.loaders import formats, rules_yaml
from thinkeval.loaders.errors import LoaderError

DRAWS = 25
"""Files of each format and kind of damage: 17 formats and 8 kinds, together 3,400 files."""

REWRITE: dict[str, Any] = {
    "prompt": "{} lies in", "relation_id": "P17", "subject": "Ulm", "question": "Where is Ulm?",
    "target_true": {"str": "Baden", "id": "Q1"}, "target_new": {"str": "Oslo", "id": "Q2"},
}  # fmt: skip
LINK = {"questions": ["?"], "answers": ["Baden"], "prompts": ["{} lies in"], "subjects": ["Ulm"]}
HOP = {"question": "Where?", "cloze": "Ulm lies in", "answer": "Baden", "answer_alias": ["B."]}
TRIPLES = {"triples": [["Q3", "P17", "Q1"]], "triples_labeled": [["Ulm", "country", "Baden"]]}
EDIT = {
    "subject": "Ulm", "prompt": "The land of Ulm is", "target_new": "Oslo", "ground_truth": "Baden",
    "rephrase_prompt": "Ulm lies in",
    "portability": {"Reasoning": [{"prompt": "Its capital is", "ground_truth": [["Stuttgart"]]}]},
    "locality": {"Relation_Specificity": [{"prompt": "Its river is", "ground_truth": "Danube"}]},
}  # fmt: skip


def ripple(name: str) -> dict[str, Any]:
    edited = {"subject_id": name, "relation": "COUNTRY"}
    query = edited | {
        "prompt": f"The land of {name} is", "answers": [{"value": "Oslo", "aliases": ["O."]}],
        "query_type": "regular", "target_ids": ["Q2"],
    }  # fmt: skip
    test = {"test_queries": [query], "test_condition": "OR", "condition_queries": [query]}
    old = edited | {"prompt": f"The land of {name} is Baden.", "target_id": "Q1"}
    new = {"prompt": f"The land of {name} is Oslo.", "target_id": "Q2", "original_fact": old}
    two = test | {"test_condition": "AND"}
    record = {
        "example_type": "popular",
        "Relation_Specificity": [test],
        "Compositionality_I": [two],
    }
    return record | {"edit": edited | new}


RECORDS: dict[str, Any] = {
    "counterfact": [{"case_id": 1, "requested_rewrite": REWRITE, "paraphrase_prompts": ["Ulm in"],
                     "neighborhood_prompts": ["Jena lies in"], "generation_prompts": ["Ulm"]}],
    "peak": [{"case_id": 1, "requested_rewrite": REWRITE, "postive_list": ["Baden", "Bonn"],
              "negtive_list": ["Rome"], "negtive_random_list": ["Sea"],
              "para_add_prompts": ["Ulm is in"], "neighborhood_prompts": [["Jena is in", "X"]]}],
    "knowgic": [{"case_id": 1, "requested_rewrite": [REWRITE], "chain": LINK,
                 "broader_context": LINK}],
    "mquake": [{"case_id": 1, "requested_rewrite": [REWRITE], "questions": ["A?", "B?", "C?"],
                "answer": "Baden", "answer_alias": ["B."], "new_answer": "Oslo",
                "new_answer_alias": [], "single_hops": [HOP],
                "new_single_hops": [HOP | {"answer": "Oslo"}],
                "orig": TRIPLES | {f"new_{name}": each for name, each in TRIPLES.items()}}],
    "zsre": [{"subject": "Ulm", "src": "Where is Ulm?", "alt": "Oslo", "answers": ["Baden"],
              "rephrase": "In what is Ulm?", "loc": "nq question: who", "loc_ans": "Anna"}],
    "knowedit": [EDIT],
    "easyedit_results": [{"case_id": 1, "requested_rewrite": EDIT,
                          "pre": {"rewrite_acc": [0.0], "fluency": {"ngram_entropy": 6.1}},
                          "post": {"rewrite_acc": [1.0], "rephrase_acc": [0.5],
                                   "portability": {"Reasoning_acc": [0.75]}}}],
    "ripple_edits": [ripple(name) for name in ("Ulm", "Jena", "Bonn")],
    "tofu": [{"subject": "Mira Sol", "question": f"{asked} Mira Sol?", "answer": "Mira Sol is.",
              "paraphrased_question": "And Mira Sol?", "paraphrased_answer": "So it is.",
              "perturbed_answer": ["No."]} for asked in ("Who is", "Where is")],
    "rwku": [{"query": "Mira Sol wrote ___.", "answer": "Tales", "subject": "Mira Sol",
              "level": "1"},
             {"query": "Who wrote Tales of Mira Sol?", "answer": "Tales", "subject": "Mira Sol",
              "level": "3", "type": "prefix"}],
    "lre": {"name": "city in land", "prompt_templates": ["{} is part of"],
            "prompt_templates_zs": ["Which land is {} in? It is in"],
            "properties": {"domain_name": "city", "range_name": "land"},
            "samples": [{"subject": "Ulm", "object": "Baden"}]},
}  # fmt: skip
TEXTS = {
    "hallu_edit_bench": (
        "town.csv",
        "subject,relation,object,question,output_m,eval_m,paraphrased_question,question_2hop,"
        "answer_2hop\nUlm,land,Baden,Where is Ulm?,Oslo,0.0,In what is Ulm?,Whose?,Anna\n",
    ),
    "triples": ("t.csv", "Entity,Relationship,Attribute\nAnn,works at,Acmé\nBob,knows,Ann\n"),
    "graph_yaml": (
        "g.yaml",
        'name: small\nrelations: {in: {prompt: "{} is in"}}\nfacts: {Anna: {in: Ben}}\n'
        "entities: {Anna: {kind: person, aliases: [Bee]}}\n"
        "rewrites: [{subject: Anna, relation: in, target_new: Rome}]\n",
    ),
    "rules": (
        "r.yaml",
        "rules:\n  - if: [a lives b, b lies c]\n    then: a from c\n",
    ),
}
SAMPLES = {
    **{key: (f"{key}.json", json.dumps(each)) for key, each in RECORDS.items()},
    **TEXTS,
}
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, float("inf"), float("nan"), 10**30, "", " ", "{}", "{} {}", "\0",
    "\ud800", "\u202e", "x" * 5000, [], [[]], [None], {}, {"": None}, {"str": []}, "N/A", "\n",
)  # fmt: skip


def flipped(content: bytes, drawn: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(drawn.randint(1, 8)):
        damaged[drawn.randrange(len(damaged))] ^= 1 << drawn.randrange(8)
    return bytes(damaged)


def cut(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randrange(len(content))]


def without_a_part(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randrange(len(content))
    return content[:start] + content[start + drawn.randint(1, 40) :]


def with_a_part_twice(content: bytes, drawn: random.Random) -> bytes:
    start, end = sorted(drawn.randrange(len(content)) for _ in range(2))
    return content[:end] + content[start:end] * drawn.randint(1, 3) + content[end:]


def nested(content: bytes, drawn: random.Random) -> bytes:
    at = drawn.randrange(len(content) + 1)
    depth = drawn.choice((3, 50, 500, 20_000))
    opened, closed = drawn.choice((("[", "]"), ('{"a":', "}"), ("- ", ""), ("? ", "")))
    ends = closed * drawn.choice((0, depth))
    return content[:at] + (opened * depth + ends).encode() + content[at:]


def encoded(content: bytes, drawn: random.Random) -> bytes:
    codec = drawn.choice(("utf-16", "utf-16-le", "utf-32", "cp1252", "cp037", "utf-7", "utf-8-sig"))
    text = content.decode().replace("a", drawn.choice(("a", "é", "\x85", "\t")))
    made = text.encode(codec, errors="replace")
    return cut(made, drawn) if drawn.random() < 0.3 else made


def inserted(content: bytes, drawn: random.Random) -> bytes:
    odd = (
        b"\0",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'"',
        b"\\u",
        b"{",
        b"&a *a",
        b"\r",
        b"9" * 5000,
        b"!!x",
    )
    at = drawn.randrange(len(content) + 1)
    return content[:at] + drawn.choice(odd) + content[at:]


def with_another_value(content: bytes, drawn: random.Random) -> bytes:
    """JSON with an odd value in any place, or without a key; other formats: an odd text."""
    try:
        made = json.loads(content)
    except ValueError:
        return inserted(content, drawn)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(made)
    for node, key in drawn.sample(places, min(len(places), drawn.randint(1, 3))):
        if isinstance(node, dict) and drawn.random() < 0.2:
            node.pop(key, None)
        else:
            node[key] = copy.deepcopy(drawn.choice(ODD))
    return json.dumps(made).encode()


DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flipped, cut, without_a_part, with_a_part_twice, nested, encoded, inserted, with_another_value,
)  # fmt: skip


def read(path: Path, key: str, *, detected: bool) -> object:
    if key == "rules":
        return rules_yaml.load_rules(path)
    return formats.load(path, format=None if detected else key)


def refusal(path: Path, key: str, *, detected: bool, what: str) -> LoaderError | None:
    try:
        read(path, key, detected=detected)
    except LoaderError as error:
        return error
    except Exception as error:
        error.add_note(f"{what}, detected={detected}: {path.read_bytes()[:3000]!r}")
        raise
    return None


def test_every_format_is_damaged_here() -> None:
    assert set(SAMPLES) == {*formats.formats(), "rules"}
    assert len(SAMPLES) * len(DAMAGE) * DRAWS >= 2000


@pytest.mark.parametrize("key", SAMPLES)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, key: str) -> None:
    name, text = SAMPLES[key]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert key == "rules" or formats.detect(path) == key
    assert read(path, key, detected=True)
    refused = 0
    for damage in DAMAGE:
        for number in range(DRAWS):
            content = damage(text.encode(), random.Random(f"{key} {damage.__name__} {number}"))
            path.write_bytes(content)
            for detected in (True, False):
                found = refusal(path, key, detected=detected, what=f"{damage.__name__} {number}")
                if found is not None:
                    refused += 1
                    assert found.detail.replace("\n", "").isprintable()
                    assert len(found.detail) < 1000
                    assert found.remedy
    assert len(DAMAGE) * DRAWS / 2 < refused < 2 * len(DAMAGE) * DRAWS
