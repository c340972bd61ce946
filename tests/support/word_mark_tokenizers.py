"""Tokenizers that mark the start of a word with `▁`, as SentencePiece does, built in memory."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from support.tiny_models import CORPUS

SPECIAL = ("<unk>", "<s>", "</s>")
PREPEND = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ],
}
"""The normalizer of Llama 2 and Mistral v0.1: every text begins with `▁`, also " Paris"."""
FIRST = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
"""The pre-tokenizer of later conversions: `▁` before a text's first word only."""


def word_mark_tokenizer(kind: str, *, closing: bool = False) -> Any:
    """A BPE tokenizer with a BOS and byte fallback: `prepend` (Llama 2) or `first`.

    Args:
        closing: True if an EOS follows every text.
    """
    spec = json.loads(_trained())
    spec["normalizer"] = PREPEND if kind == "prepend" else None
    spec["pre_tokenizer"] = FIRST if kind == "first" else None
    template: list[dict[str, Any]] = [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ]
    if closing:
        template.append({"SpecialToken": {"id": "</s>", "type_id": 0}})
    spec["post_processor"] = {
        "type": "TemplateProcessing",
        "single": template,
        "pair": template,
        "special_tokens": {
            name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]}
            for name in ("<s>", "</s>")
        },
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(spec)),
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
    )


@cache
def _trained() -> str:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip()]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer.to_str()
