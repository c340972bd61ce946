"""Tokenizer of one corpus; sentences as token ids with loss weights and subject positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from .corpus import Sentence

END = "<|endoftext|>"
OTHER_WEIGHT = 0.25
"""Loss weight of tokens outside objects (objects have 1): halves the number of steps."""


def train_tokenizer(sentences: Iterable[Sentence], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE like GPT-2's, of at most `vocabulary` tokens, trained on the sentences."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Each sentence also after a space: names occur at the start and within sentences.
    texts = (
        text
        for s in sentences
        for first, *rest in [pieces(s)]
        for text in (first, " " + first, *rest)
    )
    bpe.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=END, eos_token=END, pad_token=END, unk_token=END
    )


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sentence in tokens.

    Attributes:
        ids: token ids.
        weights: loss weight of each token as a target.
        subject: index of the subject's first and last token, if the sentence names it.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]
    subject: tuple[int, int] | None


def pieces(sentence: Sentence) -> list[str]:
    """The sentence cut in front of each object that no space precedes (`editing.joint`).

    So no token has a part of a prompt and a part of its object.
    """
    text = sentence.text
    cuts = [start for start, _ in sentence.objects if start and not text[start - 1].isspace()]
    return [text[a:b] for a, b in pairwise((0, *cuts, len(text)))]


def _tokens_in(
    span: tuple[int, int], offsets: list[tuple[int, int]], shift: int
) -> tuple[int, int] | None:
    """First and last token that overlap the characters `span` (moved right by `shift`)."""
    start, end = span[0] + shift, span[1] + shift
    inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
    return (inside[0], inside[-1]) if inside else None


class Encoder:
    """Encodes sentences, memoised (most recur every few epochs)."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer.backend_tokenizer
        self.end: int = self._tokenizer.get_vocab()[END]
        self._cache: dict[tuple[str, bool], Encoded] = {}

    def __call__(self, sentence: Sentence, *, after_another: bool = False) -> Encoded:
        """The sentence in tokens; `after_another` puts the joining space before it."""
        key = (sentence.text, after_another)
        if key not in self._cache:
            self._cache[key] = self._encode(sentence, int(after_another))
        return self._cache[key]

    def _encode(self, sentence: Sentence, shift: int) -> Encoded:
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        start = 0
        for number, text in enumerate(pieces(sentence)):
            whole = text if number else " " * shift + text
            encoding = self._tokenizer.encode(whole)
            ids += encoding.ids
            offsets += [(start + a, start + b) for a, b in encoding.offsets]
            start += len(whole)
        weights = [OTHER_WEIGHT] * len(offsets)
        for span in sentence.objects:
            place = _tokens_in(span, offsets, shift)
            for i in range(place[0], place[1] + 1) if place else ():
                weights[i] = 1.0
        subject = _tokens_in(sentence.subject, offsets, shift) if sentence.subject else None
        return Encoded(tuple(ids), tuple(weights), subject)
