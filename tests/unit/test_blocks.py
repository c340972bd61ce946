"""The reader of fenced blocks, and what holds of every block of the documentation unrun."""

from __future__ import annotations

import pytest

from support.docs.blocks import blocks, commands, differences, masked, problems
from support.docs.pages import ROOT, pages

FENCE = "`" * 3


def page(*lines: str) -> str:
    return "\n".join(lines).replace("~~~", FENCE)


def test_blocks_of_a_page_in_order() -> None:
    found = list(
        blocks(
            page(
                "# Title",
                "~~~sh",
                "thinkeval results graphs",
                "~~~",
                "<!-- not run: needs a GPU -->",
                "",
                '~~~python title="a.py"',
                "x = 1",
                "",
                "~~~",
                "1. in a list",
                "",
                "    ~~~text",
                "    as is",
                "      deeper",
                "    ~~~",
                "~~~",
                "~~~",
            )
        )
    )
    assert [(b.line, b.language, b.title, b.not_run, b.text) for b in found] == [
        (3, "sh", None, None, "thinkeval results graphs"),
        (8, "python", "a.py", "needs a GPU", "x = 1\n"),
        (14, "text", None, None, "as is\n  deeper"),
        (18, "", None, None, ""),
    ]
    with pytest.raises(ValueError, match="line 1"):
        list(blocks(page("~~~sh", "ls")))


def test_what_is_wrong_with_a_block_without_running_it() -> None:
    (bare, odd, why, out, run) = blocks(
        page(
            "~~~", "~~~", "~~~bash", "~~~", "<!-- not run: no time -->", "~~~sh", "~~~",
            '~~~yaml title="../x.yaml"', "~~~", '~~~sh title="x.sh"', "~~~",
        )
    )  # fmt: skip
    assert "no language" in next(problems(bare))
    assert "'bash'" in next(problems(odd))
    assert "'no time' names none of" in next(problems(why))
    assert "not in the page's folder" in next(problems(out))
    assert "no title" in next(problems(run))


def test_commands_of_a_shell_block() -> None:
    (block,) = blocks(
        page(
            "~~~sh",
            "# a comment of its own",
            "thinkeval score x \\",
            "    -m rome   # exit 1",
            "curl -s h -d '{",
            '  "a": 1}\'',
            "cat > f <<'END'",
            "it's \"open",
            "END",
            "for m in a b; do",
            "  echo $m",
            "done",
            "echo it\\'s done && curl h/nothing  # 404: there is none",
            "~~~",
        )
    )
    found = commands(block)
    assert [(c.line, c.text.count("\n")) for c in found] == [
        (3, 1),
        (5, 1),
        (7, 2),
        (10, 2),
        (13, 0),
    ]
    assert [c.expected for c in found] == [{1}, {0}, {0}, {0}, {22}]


def test_commands_and_output_of_a_console_block() -> None:
    (block,) = blocks(
        page("~~~console", "$ a \\", "> b", "one", "", "two", "$ c  # exit code 2", "~~~")
    )
    assert [(c.line, c.text, c.shown) for c in commands(block)] == [
        (2, "a \\\nb", ("one", "", "two")),
        (7, "c  # exit code 2", ()),
    ]
    assert commands(block)[1].expected == {2}
    (wrong,) = blocks(page("~~~console", "output", "~~~"))
    with pytest.raises(ValueError, match="output without a command"):
        commands(wrong)


@pytest.mark.parametrize(
    ("line", "mask"),
    [
        ("IFR 0.105  after .546", "IFR # after #"),
        ("rome-harry-potter-8e4cdb0c70 done", "# done"),
        ("at 2026-11-22T02:25:30.825Z", "at #"),
        ("see http://127.0.0.1:8000/edits", "see #/edits"),
        ("gpt2 has 3-step chains, 1,406", "gpt2 has #-step chains, #"),
        ("│ Ron Weasley │ 12 │", "@ #"),
        ("added a decade", "added a decade"),
        ("a + b, +finetune:graph:steps=200: 3 of 4", "a + b, +@: # of #"),
        ("0.993 (2)  –  0.9", "# # #"),
        ("Ron – 3–5 (6)", "Ron # #–#"),
    ],
)
def test_numbers_ids_and_times_are_masked(line: str, mask: str) -> None:
    assert masked(line, ("Ron Weasley",)) == mask


def test_output_is_the_one_shown_up_to_what_varies() -> None:
    shown = ["Method  IFR", "rome    0.54", "memit   0.1", ""]
    assert differences(shown, "Method   IFR\nmemit  .22\nrome 0.546\n") == []
    assert differences(shown, "Method   IFR\nrome 0.546\n") == ["not in the output: memit #"]
    assert differences(shown, "Method IFR\nrome 1\nmemit 2\nnew 3\n") == ["not on the page: new #"]
    assert differences([*shown, "…"], "Method IFR\nrome 1\nmemit 2\nnew 3\n") == []
    assert differences(["Hogwarts Sch…", "a"], "Hogwarts School\n", "progress\na\n") == []
    assert differences(["Hogwarts Sch…"], "Beauxbatons\n") == [
        "not in the output: Hogwarts Sch…",
        "not on the page: Beauxbatons",
    ]


def test_blocks_of_the_documentation_have_a_language_and_good_reasons() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in pages()
        for block in blocks(path.read_text(encoding="utf-8"))
        for problem in problems(block)
    ]
    assert wrong == []
