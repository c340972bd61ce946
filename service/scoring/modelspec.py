"""Which model a user means: a hub name, a folder, or a small model trained on the graph itself.

`organism`, `organism:llama`, `organism:gpt2:seed=1,steps=600` name a model organism; anything else
goes to transformers as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from thinkeval.service.errors import UsageError

ORGANISM = "organism"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed `--model`.

    Attributes:
        text: as the user wrote it.
        organism: architecture of the organism to train, or None for a ready model.
        options: training options of the organism (`seed`, `steps`).
    """

    text: str
    organism: str | None = None
    options: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Short name in graphs, edits and tables: `gpt2-xl`, `organism-gpt2-seed0`."""
        if self.organism is None:
            return Path(self.text).name
        rest = {"seed": 0} | self.options
        return "-".join([ORGANISM, self.organism, *(f"{k}{v}" for k, v in sorted(rest.items()))])


def parse(text: str, *, seed: int | None = None) -> ModelSpec:
    """Parse `--model`; `seed` is the organism's seed where the text names none."""
    head, *rest = text.split(":")
    if head != ORGANISM:
        return ModelSpec(text)
    architecture, options = "gpt2", {} if seed is None else {"seed": seed}
    for part in rest:
        if "=" not in part:
            architecture = part
            continue
        for pair in part.split(","):
            name, _, value = pair.partition("=")
            if name not in ("seed", "steps") or not (value.isascii() and value.isdigit()):
                raise UsageError(
                    f"{pair!r} in --model {text!r} is not an option of an organism.",
                    remedy="Write it like organism:gpt2:seed=1,steps=600.",
                )
            options[name] = int(value)
    return ModelSpec(text, architecture, options)
