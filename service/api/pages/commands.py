"""Commands that repeat a score: `thinkeval` on the command line, `curl` over REST."""

from __future__ import annotations

import json
import shlex
from typing import Any

from ...request_options import words_of
from ...schemas import EditOptions, Score
from ...scoring.posting import posted


def commands(score: Score, base: str) -> list[tuple[str, str]]:
    """(label, command) pairs; `base` is the service's address, without a slash at its end."""
    if "comparison" in score.provenance:
        return _of_comparison(score, base)
    body = posted(score)
    # A single quote would end the shell's quoting, so it is written as JSON escapes it.
    text = json.dumps(body, ensure_ascii=False).replace("'", "\\u0027")
    return [
        ("Score it again, on the command line", _command(body)),
        ("Its chains, on the command line", f"thinkeval chains {score.edit} --surviving"),
        (
            "Score it again, over REST (answers at once: it is stored)",
            f"curl -s -X POST {base}/v1/edits -H 'Content-Type: application/json' -d '{text}'",
        ),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}/score"),
    ]


def _of_comparison(score: Score, base: str) -> list[tuple[str, str]]:
    """The commands of an edit that a comparison of two states scored."""
    states = score.provenance["comparison"]
    specs = [state.get("spec") or state["word"] for state in (states["before"], states["after"])]
    words = ["thinkeval", "compare", *specs]
    words += ["--graph", score.dataset]
    words += ["--forget", _fact(score)] if score.kind == "forget" else ["--rewrite", score.rewrite]
    return [
        ("Compare the states again, on the command line", shlex.join(words)),
        ("Its chains, on the command line", f"thinkeval chains {score.edit} --surviving"),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}/score"),
    ]


def _fact(score: Score) -> str:
    return f"{score.subject}|{score.relation}|{score.target_true}"


def _command(body: dict[str, Any]) -> str:
    rewrite = body["rewrite"]
    words = ["thinkeval", "score"]
    if isinstance(rewrite, str):
        words.append(rewrite)
    elif "target_new" not in rewrite:
        fact = "|".join(rewrite[name] for name in ("subject", "relation", "target_true"))
        words += ["--forget", fact]
    else:
        for key, value in rewrite.items():
            words += [f"--{key.replace('_', '-')}", value]
    given = {name: value for name, value in body.items() if name != "rewrite"}
    return shlex.join([*words, *words_of(EditOptions, given)])
