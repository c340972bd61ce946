"""Assertion of a mention: an answer that corrects itself asserts the last name only. No torch.

A mention is not asserted where the text says that it is wrong (`Paris is wrong`), takes it back
(`Paris, no, Lyon`), or states it as the past or as a belief of others and then another one (`It
used to be Paris, but now it is Lyon`; `People think it is Paris, but it is Lyon`). Where such a
statement has no other answer behind it, and in a question, it is undecided. `It is believed to be
Paris` is a hedge, and counts.
"""

from __future__ import annotations

import re

from .clauses import clause_before
from .words import FUNCTION_WORDS

_QUOTE = r"['\"”’»)]*"
_RIGHT = (
    r"(?:right|correct|true|it|so|"
    r"the (?:right |correct |actual |real |true )?(?:answer|one|case))\b"
)
_DENIED = re.compile(
    rf"{_QUOTE},?\s*(?:(?:which|that|though|however|but (?:that|this|it)),?\s+)?"
    r"(?:(?:is|was|are|were|'s|seems|would be)(?P<not>n't| not)?)\s+"
    r"(?:(?:actually|really|simply|just|clearly|obviously|also|definitely|sadly|completely|totally|"
    r"often|a|an|the|my|common|popular|old|first|initial)\s+)*"
    r"(?P<what>wrong|incorrect|false|untrue|mistaken|mistake|error|myth|misconception|outdated|"
    rf"guess|no longer|{_RIGHT})",
)
_NOT_THE = re.compile(
    rf"{_QUOTE}\s+(?:is|was|are|were)(?:n't| not) (?:the|its|his|her|their|my|our|where|an?)\b"
)
_REPLACED = re.compile(
    rf"{_QUOTE}\s+(?:is|was|were|has been|had been|got)\s+(?:(?:later|since|now|then)\s+)?"
    rf"(?:replaced|succeeded|superseded)\b|{_QUOTE}\s+gave way\b"
)
_MOVED = re.compile(
    r"\b(?:moved|changed|transferred|relocated|switched|shifted|corrected|updated)\b.*\bfrom "
    r"(?:the )?$"
)

_MARKS = r"\s*(?:[,;:.…()—–-]+\s*)+"
_STRONG = (
    r"(?:no(?! (?:longer|doubt|question|wonder|other|more|less|matter|one)\b)|nope|wait|sorry|oops|"
    r"scratch that|strike that|correction|i meant|my mistake|my bad|apologies|excuse me|"
    r"let me correct|nein|perdón|pardon)"
)
_STUTTER = r"(?:(?:oh|ah|uh|um|er|hmm|well|or|and|but)\b,?\s*)*"
_TAKES_BACK = re.compile(rf"{_MARKS}{_STUTTER}{_STRONG}\b")
_CORRECTS = re.compile(
    rf"{_MARKS}{_STUTTER}(?:actually|i mean|rather(?! than)|make that|in fact|in reality|better|"
    r"besser gesagt|plutôt|mejor dicho)\b|\s+or rather\b"
)

_OTHERS_THINK = re.compile(
    r"\b(?:people|many|most|some|everyone|everybody|others|folks|you|they|public|students|tourists|"
    r"textbooks|sources|one (?:might|may|would|could)|viele|leute|gens|gente|muchos)"
    r"(?:\s+(?!i\b|we\b)\w+){0,3}?\s+"
    r"(?:think|thinks|believe|believes|say|says|assume|assumes|guess|expect|suppose|claim|claims|"
    r"thought|believed|assumed|denken|glauben|pensent|croient|cree|creen|piensa|piensan)\b|"
    r"\b(?:man (?:denkt|glaubt|sagt)|on (?:pense|croit|dit))\b|"
    r"\b(?:i|we)(?:'d| had)?(?:\s+(?:first|originally|initially|always|once|at first))?\s+"
    r"(?:thought|believed|assumed|guessed|expected|"
    r"(?:would have|wanted to|was going to) sa(?:y|id))\b|"
    r"\b(?:common|popular|widespread) (?:misconception|belief|mistake|assumption|answer)\b"
)
_BELIEVED = re.compile(
    r"\b(?:(?:is|was|are|were|been|'s|often|sometimes|\w+ly)\s+)+(?:also\s+)?"
    r"(?:thought|believed|said|assumed|considered|supposed|claimed|rumou?red|reported)\b"
)
_AT_FIRST = re.compile(r"\b(?:originally|initially|at first|historically|had been)\b")
_WAS = re.compile(r"(?:^|\b(?:it|that|this|answer|capital|name) )(?:was|were) (?:in |at |the )?$")
_FORMER = re.compile(
    r"\b(?:used to|formerly|previously|at one time|in the past|früher|ehemals|autrefois|"
    r"anciennement|antiguamente|solía)\b|\b(?:was|were|lived|had) once\b|"
    r"\bonce (?:was|were|known|called|lived)\b|^\s*once\s"
)
_WRONGLY = re.compile(
    r"\b(?:mistakenly|wrongly|incorrectly|erroneously|falsely|mistaken for|confused with|"
    r"misattributed to|misidentified as)\b"
)
_FORMER_AFTER = re.compile(
    rf"{_QUOTE}\s+(?:(?:up )?(?:un)?til|used to be|was (?:once|formerly|previously))\b|"
    rf"{_QUOTE}\s+(?:was|were|served|remained)\b[^.,;:!?]{{0,60}}\b(?:un)?til\b"
)
_BUT = (
    r"\b(?:but|however|yet|though|although|actually|in (?:fact|reality|truth)|"
    r"the (?:right |correct |real |actual |true )?answer|aber|sondern|mais|pero)\b"
)
_NOW = (
    r"\b(?:now|nowadays|today|currently|instead|since then|then|later|when|jetzt|heute|maintenant|"
    r"aujourd'hui|ahora|hoy)\b"
)
_ANYHOW = re.compile(rf"{_BUT}|{_NOW}|[;—–]")
_FRAMES = (
    (_OTHERS_THINK, _ANYHOW, False, None),
    (_FORMER, _ANYHOW, False, None),
    (_BELIEVED, re.compile(_BUT), False, True),
    (_AT_FIRST, re.compile(_BUT), None, True),
    (_WAS, re.compile(rf"(?:{_BUT}|;)\s*(?:it (?:is|was) )?{_NOW}"), False, True),
)
"""Clauses before a mention, with the contrast behind it that another answer follows; the verdict
with that answer, and without the contrast."""
_CONCEDES = re.compile(r"\b(?:although|though|while|whereas|despite|obwohl|bien que|aunque)\b")
_WORD = re.compile(r"[^\W_][\w'-]*")
_WRONG = re.compile(
    r"\b(?:wrong|incorrect|false|untrue|myth|(?:not|n't) (?:true|right|correct|so|the case))\b"
)
_FILLER = re.compile(
    rf"(?:{_STRONG}\b|"
    r"[\s,:;.…()\"'“”—–-]|\b(?:it|that|this|there|i|is|was|it's|that's|should be|must be|"
    r"i mean|i meant|i think|make that|the (?:right |correct |real |actual |true )?"
    r"(?:answer|capital|name|place|city|country) is|in|at|the|to|by|from|of|a|an|on|es|ist|c'est|"
    r"est)(?![\w']))*"
)


def asserted(text: str, original: str, start: int, end: int) -> bool | None:
    """Return True if a text asserts the mention at a place; False: it denies it; None: unclear.

    Args:
        text: the plain text in lower case.
        original: the text as it is written.
    """
    if text.rstrip(" \"'”’)").endswith("?"):
        return None
    denied = _DENIED.match(text, end)
    if denied is not None and (denied["not"] is None) is not bool(_matches_right(denied["what"])):
        return False
    if _NOT_THE.match(text, end):
        return None
    if _REPLACED.match(text, end) or _MOVED.search(text, 0, start):
        return False
    name = text[start:end]
    for pattern, certain in ((_TAKES_BACK, True), (_CORRECTS, False)):
        for mark in pattern.finditer(text, end):
            at = _FILLER.match(text, mark.end()).end()  # type: ignore[union-attr]
            if text.startswith(name, at):
                continue
            if _is_answer(text, original, at):
                return False
            if certain:
                return None
    return _of_frame(text, original, start, end)


def _of_frame(text: str, original: str, start: int, end: int) -> bool | None:
    """Return True if the clause of a mention asserts it."""
    clause = clause_before(text, start)
    if _WRONGLY.search(clause):
        return False
    conceded = _CONCEDES.search(text, 0, start) is not None
    frames = [each[1:] for each in _FRAMES if each[0].search(clause)]
    if _FORMER_AFTER.match(text, end):
        frames.append((_ANYHOW, False, None))
    for contrast, with_answer, without in frames:
        mark = contrast.search(text, end)
        if mark is None and not conceded:
            verdict = without
        elif _has_answer(text, original, mark.end() if mark else end, text[start:end]):
            verdict = with_answer
        else:
            verdict = None
        if verdict is not True:
            return verdict
    return True


def _matches_right(what: str) -> bool:
    return re.fullmatch(_RIGHT, what) is not None


def _is_answer(text: str, original: str, at: int) -> bool:
    """Return True if the word at a place may be an answer: it has a capital, or is a number."""
    word = _WORD.match(text, at)
    if word is None or word.group() in FUNCTION_WORDS:
        return False
    cased = any(char.isupper() for char in original)
    return not cased or not original[at].islower()


def _has_answer(text: str, original: str, at: int, name: str) -> bool:
    """Return True if a text has another answer behind a place, or denies the one before it."""
    if _WRONG.search(text, at):
        return True
    return any(
        _is_answer(text, original, word.start()) and word.group() not in name
        for word in _WORD.finditer(text, at)
    )
