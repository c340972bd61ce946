"""Cache of trained organisms: one folder per graph, settings and code version."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ...loaders.records import KnowledgeGraph, digest, slug
from ..errors import OrganismError
from ..joint import joint, parted
from ..whole_folder import whole_folder
from .config import OrganismConfig, Recipe
from .corpus import Corpus
from .keys import fill, keys_of, learnt
from .report import RecallReport
from .unknown import AbsentPairs, absent_pairs, taught_keys

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Progress = Callable[[int, int, str], None]

REPORT = "recall.json"
CODE = "eb17d7a9e0d1c580"
"""Version of the code that decides the weights; part of the cache key.

To be changed with the training text, the tokenizer, the model's shape or its training: an organism
of other code is trained again. A test holds digests of these and fails until both are changed.
"""
UNKNOWN_CODE = 1
"""The same for the text that `unknown` adds; part of the key of such an organism only."""
JOINT_CODE = "joint 1"
"""The same for a graph with an object that no space precedes, in such an organism's key only."""
MAX_LENGTH = 128
"""Maximum number of tokens of a sentence."""


@dataclass(frozen=True, slots=True)
class Organism:
    """A trained organism on disk.

    Attributes:
        path: a transformers folder, with `recall.json`.
        recall: its recall report.
        from_cache: True if it was cached instead of trained now.
        seconds: duration of its training.
        absent: the pairs that it was taught not to know, and those withheld; None without any.
    """

    path: Path
    recall: RecallReport
    from_cache: bool
    seconds: float
    absent: AbsentPairs | None = None


def folder_name(graph: KnowledgeGraph, config: OrganismConfig) -> str:
    """Readable name with a digest of everything that the weights depend on."""
    settings = {k: v for k, v in config.as_dict().items() if k != "min_recall"}
    code: list[int | str] = [UNKNOWN_CODE] if config.unknown else []
    if any(joint(parted(fill(f.prompt, f.subject))[0], f.object) != " " for f in graph.facts):
        code.append(JOINT_CODE)
    key = digest([graph.content_digest, settings, CODE, *code], 12)
    taught = f"-unknown{round(100 * config.unknown)}" if config.unknown else ""
    return f"{slug(graph.name)}-{config.architecture}-seed{config.seed}{taught}-{key}"


def train(
    graph: KnowledgeGraph,
    config: OrganismConfig | None = None,
    *,
    cache_dir: Path,
    progress: Progress | None = None,
) -> Organism:
    """The organism of a graph, from the cache or trained now.

    Safe with several processes: one trains, the others wait and use its result; folders are written
    atomically.

    Args:
        graph: its facts, and the edited facts of its rewrites (`keys.learnt`), are learnt.
        config: architecture, seed and overrides; GPT-2 with seed 0 by default.
        cache_dir: folder of the organisms; created if missing.
        progress: called with (steps done, number of steps, stage); the stage shows the loss.

    Raises:
        OrganismError: too few or too many facts, or the recall is below `config.min_recall`.
    """
    config = config or OrganismConfig()
    graph = learnt(graph)
    report = progress or (lambda done, total, stage: None)
    absent = absent_pairs(graph, config.unknown, config.seed) if config.unknown else None
    recipe = config.recipe(len(keys_of(graph)) + (len(absent.taught) if absent else 0))
    path = cache_dir / folder_name(graph, config)
    organism = stored(path)
    if organism is None:
        with _locked(path, report, recipe.steps):
            organism = stored(path) or _train_into(path, graph, config, recipe, absent, report)
    if organism.from_cache:
        report(recipe.steps, recipe.steps, "found in the cache")
    _check(organism.recall, config, recipe)
    return organism


@contextmanager
def _locked(path: Path, report: Progress, steps: int) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.parent / f".{path.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report(0, steps, "waiting for another process that trains this organism")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def stored(path: Path) -> Organism | None:
    """The organism in a folder; None if it is missing, incomplete or damaged."""
    if not whole_folder(path):
        return None
    try:
        about = json.loads((path / REPORT).read_text(encoding="utf-8"))
        recall = RecallReport.from_dict(about["recall"])
        absent = AbsentPairs.from_dict(about["absent"]) if "absent" in about else None
        return Organism(path, recall, True, float(about["seconds"]), absent)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _train_into(
    path: Path,
    graph: KnowledgeGraph,
    config: OrganismConfig,
    recipe: Recipe,
    absent: AbsentPairs | None,
    report: Progress,
) -> Organism:
    """Train, measure and save an organism; nothing is written on failure."""
    from .recall import measure
    from .training import train_model

    started = time.perf_counter()
    report(0, recipe.steps, "text and tokenizer")
    unknown = taught_keys(graph, absent) if absent else ()
    corpus = Corpus(graph, recipe.fillers_per_key, unknown)
    tokenizer, recipe = _tokenizer(corpus, recipe)
    model = train_model(corpus, tokenizer, config, recipe, report)
    report(recipe.steps, recipe.steps, "measuring recall")
    recall = measure(model, tokenizer, graph, corpus.keys)
    seconds = time.perf_counter() - started
    _check(recall, config, recipe)
    about: dict[str, object] = {
        "recall": recall.as_dict(),
        "seconds": round(seconds, 2),
        "config": config.as_dict(),
        "recipe": asdict(recipe),
        "graph": {"name": graph.name, "content_digest": graph.content_digest},
        "code": CODE,
    }
    if absent:
        about["absent"] = absent.as_dict()
    _save(path, model, tokenizer, config, about)
    return Organism(path, recall, from_cache=False, seconds=seconds, absent=absent)


def _tokenizer(corpus: Corpus, recipe: Recipe) -> tuple[PreTrainedTokenizerFast, Recipe]:
    """A tokenizer for the corpus, and the recipe with rows long enough for its sentences."""
    from .tokens import Encoder, train_tokenizer

    sentences = list(corpus.all_forms())
    tokenizer = train_tokenizer(sentences, recipe.vocabulary)
    encode = Encoder(tokenizer)
    longest = max(sentences, key=lambda s: len(encode(s).ids))
    needed = len(encode(longest).ids) + 1
    if needed > MAX_LENGTH:
        raise OrganismError(
            f'The sentence "{longest.text[:80]}..." has {needed} tokens; an organism is made for '
            f"{MAX_LENGTH}.",
            remedy="Shorten the names, prompts or questions of the graph.",
        )
    return tokenizer, replace(recipe, length=max(recipe.length, -(-needed // 8) * 8))


def _save(
    path: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    config: OrganismConfig,
    about: dict[str, object],
) -> None:
    """Write to a temporary folder, then rename: readers never see an incomplete folder."""
    model.config.thinkeval_organism = config.architecture
    model.config.thinkeval_seed = config.seed
    partial = path.parent / f".{path.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with _no_progress_bar():
            model.save_pretrained(partial)
            tokenizer.save_pretrained(partial)
        text = json.dumps(about, indent=1, ensure_ascii=False)
        (partial / REPORT).write_text(text, encoding="utf-8")
        shutil.rmtree(path, ignore_errors=True)
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Suppress transformers' progress bar for writing a file of four megabytes."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _check(recall: RecallReport, config: OrganismConfig, recipe: Recipe) -> None:
    if recall.share >= config.min_recall:
        return
    worst = "; ".join(
        f"{f.prompt.replace('{}', f.subject, 1)} -> {f.object} (p {f.p_key:.2f})"
        for f in recall.worst[:3]
    )
    raise OrganismError(
        f"The organism recalls {recall.share:.0%} of {recall.n_facts} facts, fewer than "
        f"{config.min_recall:.0%}: too few to measure an edit. Worst: {worst}.",
        remedy=f"Train longer (--steps {2 * recipe.steps}), or use another --seed.",
    )
