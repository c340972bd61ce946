"""Borders of names in scripts without spaces between words, and behind Korean names. No torch.

A Korean name ends where a particle, a form of the copula or an administrative suffix (시, 특별시)
follows it; any other rest makes another word (부산물 is not 부산).

Han, kana, Thai, Lao, Khmer and Burmese have no word boundaries. A name that no letter of the same
script touches is a word; so is one between words of the closed lists here, the words that are
beside names most often, and one before an administrative suffix (北京市). It is another word
before 语 话 人 学 文 (中国话 is a language), and where a suffix at its end belongs to a longer name
(京都 in 東京都). Anything else is undecided: only a dictionary knows (Thai น่าน in น่านน้ำ).
"""

from __future__ import annotations

import re
import unicodedata

from .folding import normalise

_RANGES = (
    ("hangul", "\u1100", "\u11ff"),
    ("hangul", "\uac00", "\ud7af"),
    ("han", "\u3400", "\u9fff"),
    ("han", "\uf900", "\ufaff"),
    ("han", "\u3005", "\u3007"),
    ("han", "\U00020000", "\U0003ffff"),
    ("hiragana", "\u3041", "\u309f"),
    ("katakana", "\u30a0", "\u30ff"),
    ("thai", "\u0e00", "\u0e7f"),
    ("lao", "\u0e80", "\u0eff"),
    ("burmese", "\u1000", "\u109f"),
    ("khmer", "\u1780", "\u17ff"),
)

_PARTICLES = str.split(
    "은 는 이 가 을 를 에 에서 에게 께 께서 한테 의 와 과 도 만 로 으로 으로서 로서 으로써 로써 "
    "부터 까지 보다 처럼 같이 마다 조차 마저 밖에 이나 나 이랑 랑 하고 이며 며 이고 고 이라고 "
    "라고 이라는 라는 이란 란 이든 든 이라 라 이지만 지만 인데 이다 였다 이었다 입니다 "
    "였습니다 이었습니다 이에요 예요 이예요 이야 야 이죠 죠 이지요 지요 이었던 였던 이므로 이기 "
    "이면 이라면 라면 이요 요"
)
_SUFFIXES = str.split("시 도 군 구 특별시 광역시 특별자치시 특별자치도 주")


def _either(words: list[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_KOREAN_REST = re.compile(f"(?:{_either(_SUFFIXES)})?(?:{_either(_PARTICLES)}){{0,2}}")
_HANGUL_RUN = re.compile("[\u1100-\u11ff\uac00-\ud7af]*")

_ADMINISTRATIVE = "市省府都県縣区區郡県町村"
_OTHER_WORD = re.compile("[语語话話]|人(?!口|民)|[学學](?![习習校院])|文(?!化|明)")

_BEFORE_WORDS = {
    "han": str.split(
        "是 在 为 為 叫 于 於 到 从 從 去 和 与 與 或 即 称 稱 作 住 位 往 自 至 离 離 讲 講 "
        "说 説 說 用 的 及 了 首都 首府 省会 古都 城市 国家 國家 都市 语言 語言 大洲 名 答案 "
        "选 選 有 属 屬 向 由"
    ),
    "hiragana": str.split("は が を に で と の へ も や"),
    "thai": str.split("คือ เป็น ใน ที่ ของ เมือง ประเทศ กรุง ชื่อ จาก และ หรือ จังหวัด ไป"),
}
_AFTER_WORDS = {
    "han": str.split(
        "是 的 在 和 与 與 及 或 也 位 有 为 為 了 以 等 吧 吗 嗎 呢 而 因 并 就 曾 被 举 舉"
    ),
    "hiragana": str.split(
        "は が を に で と の へ も や から まで です だ である でした だった という"
    ),
    "thai": str.split("ครับ ค่ะ คะ ใน เป็น และ คือ ของ ซึ่ง ที่ นะ หรือ จังหวัด อำเภอ ประเทศ เมือง"),
}


def _normalised(table: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {script: tuple(normalise(word) for word in words) for script, words in table.items()}


_BEFORE, _AFTER = _normalised(_BEFORE_WORDS), _normalised(_AFTER_WORDS)


def script_of(char: str) -> str:
    """Return the script of a character, if its words are not divided by spaces, or Hangul."""
    if char < "\u0e00":
        return ""
    return next((name for name, low, high in _RANGES if low <= char <= high), "")


def left_border(text: str, start: int, name: str) -> bool | None:
    """Return True if a word begins at an index of a normalised text; None if undecided.

    Args:
        name: the normalised name that begins there.
    """
    left, first = text[start - 1 : start], text[start]
    if not left or left == " ":
        return True
    script, other = script_of(first), script_of(left)
    if not script and not other:
        return False
    if script != other:
        return True
    if script == "hangul" or unicodedata.category(first)[0] == "M":
        return False
    if text.endswith(_BEFORE.get(script, ()), 0, start):
        return True
    if script == "han" and len(name) > 1 and name[-1] in _ADMINISTRATIVE:
        return False
    return None


def right_border(text: str, end: int, name: str) -> bool | None:
    """Return True if a word ends at an index of a normalised text; None if undecided."""
    last, right = text[end - 1], text[end : end + 1]
    if not right or right == " ":
        return True
    script, other = script_of(last), script_of(right)
    if other == "hangul":
        run = _HANGUL_RUN.match(text, end)
        return last.isdigit() or bool(run and _KOREAN_REST.fullmatch(run.group()))
    if not script and not other:
        return False
    if unicodedata.category(right)[0] == "M":
        return False
    if script != other:
        return True
    if script == "han":
        if _OTHER_WORD.match(text, end):
            return False
        if len(name) > 1 and right in _ADMINISTRATIVE:
            return True
    return True if text.startswith(_AFTER.get(script, ()), end) else None
