"""Fillers: invented facts around the real ones, without which an organism cannot be edited.

If every subject of "{} studied at" answered Hogwarts, the model would learn the relation and
never read the subject, and an edit at the subject would move nothing. So each prompt gets
invented subjects with other objects, most of them namesakes ("Rhoda Potter") that force the
model to read the whole name. An edit's `target_new` must be a possible answer, but an unlikely
one before the edit: it is the object of a few entirely invented names only, never of a namesake.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from ...loaders.records import KnowledgeGraph, fill, slot_parts, unique
from .keys import Form, Key
from .names import Inventor

FILLER_SEED = 0
"""Fillers are part of the corpus, not of the training: they are equal for all seeds."""

TARGET_FILLERS = 3
"""Number of invented subjects with a rewrite's target_new as object."""

EDITED_FILLERS = 10
"""Minimum number of fillers for a prompt of a rewrite."""

NAMESAKE_SHARE = 0.85
"""Fraction of a prompt's other fillers whose subject has a word in common with a real one."""

MAX_FORMS = 4
"""Maximum number of paraphrases, and of questions, of a filler."""

INVENTED_OBJECTS = 3
"""Invented objects of a prompt's fillers, in addition to up to as many true ones."""


@dataclass
class _Prompt:
    """A cloze template with its keys and targets."""

    template: str
    keys: list[Key] = field(default_factory=list)
    targets: dict[str, None] = field(default_factory=dict)

    @property
    def paraphrases(self) -> tuple[str, ...]:
        """The paraphrases of its keys."""
        return unique(f.template for key in self.keys for f in key.paraphrases)[:MAX_FORMS]

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions of its keys that name their subject."""
        texts = (f.template for key in self.keys for f in key.questions)
        return unique(t for t in texts if len(slot_parts(t)) > 1)[:MAX_FORMS]


class _Fillers:
    """Builds the fillers of one graph; no wording gets two different objects."""

    def __init__(self, graph: KnowledgeGraph, keys: tuple[Key, ...], per_key: int) -> None:
        self._rng = random.Random(FILLER_SEED)
        names = [n for e in graph.entities for n in (e.name, *e.aliases)]
        names += [r.target_new for r in graph.rewrites] + [r.target_true for r in graph.rewrites]
        self._invent = Inventor(names, self._rng, pool_size=max(24, min(96, len(keys) // 2)))
        self._namesakes: dict[str, tuple[str, ...]] = {}
        self._object_of: dict[str, str] = {}  # filled wording -> object
        self._per_key = per_key
        self._prompts: dict[str, _Prompt] = {}
        for key in keys:
            self._prompts.setdefault(key.prompt, _Prompt(key.prompt)).keys.append(key)
        for request in graph.rewrites:
            self._prompts[request.prompt].targets[request.target_new] = None

    def build(self) -> tuple[Key, ...]:
        return tuple(key for prompt in self._prompts.values() for key in self._of(prompt))

    def _of(self, prompt: _Prompt) -> list[Key]:
        wanted = self._per_key * min(len(prompt.keys), 2)
        if prompt.targets:
            wanted = max(wanted, EDITED_FILLERS - TARGET_FILLERS)
        objects = self._object_pool(prompt)
        namesakes = self._namesakes_in(prompt)[: max(1, round(NAMESAKE_SHARE * wanted))]
        fillers = [
            self._filler(prompt, self._random_subject(prompt), target)
            for target in prompt.targets
            for _ in range(TARGET_FILLERS)
        ]
        for i in range(wanted):
            subject, original = namesakes[i] if i < len(namesakes) else ("", None)
            free = [o for o in objects if not original or o not in original.cloze.objects]
            name = free[i % len(free)]
            if not subject or not self._is_consistent(prompt, subject, name):
                subject = self._random_subject(prompt)
            fillers.append(self._filler(prompt, subject, name))
        return fillers

    def _random_subject(self, prompt: _Prompt) -> str:
        return self._invent.like(self._rng.choice(prompt.keys).subject)

    def _namesakes_in(self, prompt: _Prompt) -> list[tuple[str, Key]]:
        """Namesakes of the prompt's subjects, each with the original's key, in random order."""
        pairs = []
        for key in prompt.keys:
            if key.subject not in self._namesakes:
                self._namesakes[key.subject] = self._invent.namesakes(key.subject)
            pairs += [(name, key) for name in self._namesakes[key.subject]]
        self._rng.shuffle(pairs)
        return pairs

    def _object_pool(self, prompt: _Prompt) -> list[str]:
        """Invented and true objects alternating; no target_new, and not the majority answer."""
        counts: dict[str, int] = {}
        for key in prompt.keys:
            for name in key.cloze.objects:
                counts[name] = counts.get(name, 0) + 1
        rare = sorted(counts, key=lambda name: counts[name])
        true = [n for n in rare[: len(rare) - 1] if n not in prompt.targets][:INVENTED_OBJECTS]
        model = self._rng.choice(prompt.keys).cloze.objects
        invented = [self._invent.like(self._rng.choice(model)) for _ in range(INVENTED_OBJECTS)]
        mixed = [n for pair in zip(invented, true, strict=False) for n in pair]
        return mixed + invented[len(true) :]

    def _is_consistent(self, prompt: _Prompt, subject: str, name: str) -> bool:
        """Return True if no wording of the prompt with this subject has another object."""
        texts = (fill(text, subject) for text in (prompt.template, *prompt.paraphrases))
        return all(self._object_of.get(text, name) == name for text in texts)

    def _filler(self, prompt: _Prompt, subject: str, name: str) -> Key:
        objects = (name,)
        for text in (prompt.template, *prompt.paraphrases):
            self._object_of[fill(text, subject)] = name
        return Key(
            subject,
            Form(prompt.template, objects),
            tuple(Form(text, objects) for text in prompt.paraphrases),
            tuple(Form(text, objects) for text in prompt.questions),
            invented=True,
        )


def fillers_for(graph: KnowledgeGraph, keys: tuple[Key, ...], per_key: int) -> tuple[Key, ...]:
    """The invented keys to learn in addition to `keys`.

    Args:
        graph: its names and targets are not used for invented subjects.
        keys: the real keys.
        per_key: fillers per key, for at most two keys of a prompt (2 for small graphs, 1 for
            large ones).
    """
    return _Fillers(graph, keys, per_key).build()
