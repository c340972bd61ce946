"""Records chained by digests: a whole chain, and each way to break one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from thinkeval.service.digest_chain import Broken, Linked, digest_of, first_broken


def chain(n: int) -> list[Linked]:
    out: list[Linked] = []
    for number in range(1, n + 1):
        previous = out[-1].digest if out else ""
        content = {"number": number, "text": f"ä{number}", "previous": previous}
        out.append(Linked(number, previous, digest_of(content), content))
    return out


def test_a_digest_is_the_whole_sha256_of_the_canonical_json() -> None:
    content = {"b": 1, "a": "ä"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert text == '{"a":"ä","b":1}'
    assert digest_of(content) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_chain_as_it_was_written_is_whole(n: int) -> None:
    assert first_broken(chain(n)) is None


def test_what_is_altered_removed_inserted_or_written_anew_is_found() -> None:
    whole = chain(5)
    altered = replace(whole[2], content={**whole[2].content, "text": "other"})
    content = {**whole[2].content, "text": "other"}
    anew = replace(whole[2], content=content, digest=digest_of(content))
    for records, number, what in (
        ([*whole[:2], altered, *whole[3:]], 3, "digest"),
        ([*whole[:2], *whole[3:]], 3, "missing"),
        ([*whole[:3], *whole[2:]], 4, "added"),
        ([*whole[:2], anew, *whole[3:]], 4, "previous"),
        ([replace(whole[0], digest="0" * 64), *whole[1:]], 1, "digest"),
        (whole[1:], 1, "missing"),
    ):
        found = first_broken(records)
        assert isinstance(found, Broken)
        assert (found.number, found.what) == (number, what)
    assert first_broken(whole[:3]) is None, "the end of a chain is noted elsewhere"
