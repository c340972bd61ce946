"""Commands that repeat a score: `thinkeval` on the command line, `curl` over REST."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from thinkeval.service.graphs.datasets import OWN
from thinkeval.service.schemas import EditIn, Score

_ORGANISM = re.compile(r"organism-([a-z0-9]+)((?:-(?:seed|steps)\d+)*)$")


_OPTIONS = (
    "samples", "ask", "chat", "dtype", "seed", "max_steps", "bare", "unit", "threshold", "strength",
)  # fmt: skip
"""What the command line calls by the same names."""

_FLAGS = ("paraphrases", "implications")
"""And what it has as a flag."""


def commands(score: Score, base: str) -> list[tuple[str, str]]:
    """(label, command) pairs; `base` is the service's address, without a slash at its end."""
    body = posted(score)
    # A single quote would end the shell's quoting, so it is written as JSON escapes it.
    text = json.dumps(body, ensure_ascii=False).replace("'", "\\u0027")
    return [
        ("Score it again, on the command line", _score(score, body)),
        ("Its chains, on the command line", f"thinkeval chains {score.edit} --surviving"),
        (
            "Score it again, over REST (answers at once: it is stored)",
            f"curl -s -X POST {base}/v1/edits -H 'Content-Type: application/json' -d '{text}'",
        ),
        ("The score, over REST", f"curl -s {base}/v1/edits/{score.edit}/score"),
    ]


def posted(score: Score) -> dict[str, Any]:
    """What to post to score this edit again; options at their default are left out."""
    made, probe = score.provenance, score.provenance.get("probe", {})
    rewrite: Any = score.rewrite
    if score.rewrite.startswith(OWN):
        rewrite = {
            "subject": score.subject,
            "prompt": score.prompt,
            "relation": score.relation,
            "target_true": score.target_true,
            "target_new": score.target_new,
        }
    wanted = {
        "graph": score.dataset,
        "rewrite": rewrite,
        "model": model(score.model),
        "method": score.method,
    }
    options = {
        "samples": probe.get("samples") if "p" in probe.get("measures", ()) else 0,
        "ask": probe.get("ask"),
        "paraphrases": probe.get("paraphrases"),
        "chat": probe.get("chat"),
        "dtype": made.get("model", {}).get("dtype"),
        "seed": made.get("seed"),
        "strength": made.get("strength"),
        "implications": bool(made.get("implications")),
        **score.options.model_dump(),
    }
    defaults = EditIn(rewrite="any")
    return wanted | {
        name: value
        for name, value in options.items()
        if value is not None and value != getattr(defaults, name)
    }


def model(name: str) -> str:
    """A model's name as `--model` takes it: an organism's is spelt out with its options."""
    found = _ORGANISM.match(name)
    if not found:
        return name
    options = re.findall(r"-(seed|steps)(\d+)", found[2])
    told = [f"{key}={value}" for key, value in options if (key, value) != ("seed", "0")]
    if not told:
        return "organism" if found[1] == "gpt2" else f"organism:{found[1]}"
    return f"organism:{found[1]}:{','.join(told)}"


def _score(score: Score, body: dict[str, Any]) -> str:
    rewrite = body["rewrite"]
    words = ["thinkeval", "score"]
    if isinstance(rewrite, str):
        words.append(rewrite)
    else:
        for key, value in rewrite.items():
            words += [f"--{key.replace('_', '-')}", value]
    words += ["--graph", score.dataset, "--model", body["model"], "--method", score.method]
    for name, value in body.items():
        if name in _OPTIONS:
            words += [f"--{name.replace('_', '-')}", str(value)]
        elif name in _FLAGS:
            words.append(f"--{name}")
    return shlex.join(words)
