"""Clauses of an answer: negations, refusals and alternatives around a mention. No torch.

A negation in front of a mention counts within its clause: up to `. , ; : ! ?`, a dash, or `but`. In
some languages it follows the mention (ではなく, 아니라, değil). Some negations affirm: `no doubt`,
`not only`, `none other than`.

A refusal is a statement of not knowing: `I don't know whether`, `cannot tell`; a text after `but`,
`I think` or `probably` is not under it. Alternatives are answers of which none is chosen: `either A
or B`, `it could be A or B`, `A or B`.
"""

from __future__ import annotations

import re

_CLAUSE = re.compile(
    r"[.,;:!?。，、；：！？()\[\]\n—–]|(?<!\w)-(?!\w)|\b(?:but|sondern|sino|mais|maar|however|yet|"
    r"whereas|although|though|because|since|so that)\b|而是|一而|ではなく|じゃなく|아니라"
)
_AFFIRMS = re.compile(
    r"\b(?:no|without(?: any| a)?|there is no|beyond) (?:doubt|question|wonder)\b|"
    r"\bnot (?:only|just|merely|simply|surprisingly)\b|"
    r"\b(?:none|no|nowhere|nothing|no one) (?:other|else) than\b|\bno less than\b|"
    r"\b(?:is|was|are|were)n't (?:it|he|she|that|this)\b|\bnot to mention\b|\bnot until\b|"
    r"\bnicht nur\b|\bpas seulement\b|\bno s[oó]lo\b|\bkein zweifel\b|\bohne zweifel\b|"
    r"\bsans (?:aucun )?doute\b|\bsin duda\b|毫无疑问|不仅|不只"
)
_NEGATES = re.compile(
    r"\b(?:not|never|no longer|cannot|rather than|instead of|neither|nor|without|"
    r"other than|except|excluding|unlike|aside from|apart from)\b|n't\b|"
    r"\bno (?:es|est[aá]|fue|son|era|se|vive|naci[oó])\b|"
    r"\b(?:nicht|niemals|keine?[rsmn]?|nie|statt|anstatt|pas|jamais|plut[oô]t que|au lieu d[eu']|"
    r"nunca|jam[aá]s|en lugar de|en vez de|não|non|invece di|niet|geen|nooit)\b|"
    r"\bне\b|\bни\b|不是|并非|並非|而非|不在|没有|沒有|ليس|ليست"
)
_NEGATED_AFTER = re.compile(
    r"['\"”』」)\s]*(?:では(?:なく|ない|ありません|なかった)|じゃ(?:なく|ない)|"
    r"(?:이|가)? ?아(?:니라|니다|닙니다|니에요|닌)|नहीं|değil)"
)

_REFUSES = re.compile(
    r"\b(?:(?:i|we)(?:'m| am| are)? )?(?:(?:really |honestly |just |simply )?(?:don't|do not|"
    r"didn't|did not|wouldn't) (?:actually |really |even |currently )?(?:know|remember|recall|"
    r"have (?:any |enough |access|information|data|knowledge|a clue|an idea)|"
    r"understand)|have no (?:idea|clue|information|knowledge)|no idea|no clue|"
    r"(?:can't|cannot|can not|could not|couldn't|am unable to|'m unable to|unable to|"
    r"not able to|won't|will not) (?:really |possibly |currently |definitively )?(?:tell|say|"
    r"answer|determine|confirm|provide|verify|identify|help|assist|recall|remember|name|be sure|"
    r"be certain|find|give)|(?:not|n't) (?:entirely |completely |quite |really |100% |absolutely |"
    r"too |very |totally )?(?:sure|certain|aware|familiar|clear|known)|"
    r"(?<=is )(?:unclear|unknown|uncertain)|(?<=remains )(?:unclear|unknown|uncertain)|unsure)\b|"
    r"\bich wei(?:ß|ss) (?:es )?nicht|\bweiß ich nicht|\bje ne (?:sais|connais) pas|"
    r"\bno (?:lo )?s[eé]\b|不知道|不清楚|不确定|わかりません|分かりません|わからない|知りません|"
    r"모르|не знаю"
)
_OF_OTHERS = re.compile(r"\b(?:he|she|they|who|people|you|which)(?: \w+)? $")
"""A subject that does not know, and is not the one that answers."""
_ANSWERS = re.compile(
    r"\b(?:but|i think|i believe|i guess|i suppose|i would say|i'd say|i assume|probably|perhaps|"
    r"maybe|possibly|likely|presumably|however|though|most likely|my (?:best )?guess|i would guess|"
    r"i'd guess|aber|ich glaube|ich denke|vielleicht|wahrscheinlich|mais|je (?:pense|crois)|"
    r"peut-[eê]tre|pero|creo|quiz[aá]s?)\b|但|可能|我想|我认为|でも|が、|おそらく|たぶん|하지만|아마"
)

_EITHER = re.compile(
    r"\b(?:either|whether|could|may|might|can be|maybe|perhaps|possibly|probably|i think|i guess|"
    r"i believe|it's between|entweder|soit|o bien)\b"
)
_OR = r"(?:or|oder|ou|или|或者?|または|또는)"
_OR_AFTER = re.compile(
    rf"['\"”’)\s]*(?:,\s*)?{_OR}\s+(?:in |at |the |a |an |from |by )?['\"“]?(?P<next>\w[\w'-]*)"
)
_OR_BEFORE = re.compile(
    rf"(?P<last>[\w'’-]+)['\"”)]?,?\s+{_OR}\s+(?:in |at |the |a |an |from |by )?['\"“]?$"
)
_NO_OTHER = frozenset(
    str.split(
        "so more less rather even also simply other others otherwise not perhaps maybe "
        "just any anyone "
        "something someone somewhere whatever later earlier known called better formerly sometimes "
        "specifically whether if"
    )
)


def is_negated(text: str, start: int, end: int) -> bool:
    """Return True if the mention at a place of a plain text in lower case is negated."""
    return bool(_NEGATED_AFTER.match(text, end) or _negates(clause_before(text, start)))


def clause_before(text: str, start: int) -> str:
    """Return the part of a mention's clause that is before it."""
    begin = 0
    for mark in _CLAUSE.finditer(text, 0, start):
        # The comma of a name or number (`Washington, D.C.`) is inside a mention, not before one.
        begin = mark.end()
    return text[begin:start]


def _negates(clause: str) -> bool:
    return bool(_NEGATES.search(_AFFIRMS.sub(" ", clause)))


def is_refused(text: str, start: int) -> bool:
    """Return True if the text before a place says that the answer is not known."""
    *_, last = [None, *_REFUSES.finditer(text, 0, start)]
    if last is None or _OF_OTHERS.search(text, 0, last.start()):
        return False
    return _ANSWERS.search(text, last.end(), start) is None


def is_alternative(text: str, original: str, start: int, end: int) -> bool:
    """Return True if a mention is one of several answers of which none is chosen.

    Args:
        text: the plain text in lower case.
        original: the text as it is written.
    """
    asked = _EITHER.search(text, 0, start) is not None
    after = _OR_AFTER.match(text, end)
    if after is not None and after["next"] not in _NO_OTHER:
        first = original[after.start("next")]
        if asked or not first.islower():
            return True
    before = _OR_BEFORE.search(text, 0, start)
    if before is not None and before["last"] not in _NO_OTHER | {"either", "whether"}:
        first = original[before.start("last")]
        return asked or not first.islower()
    return False
