"""Shares of conclusions in words: none stands without its n, nor a whole without its two parts."""

from __future__ import annotations

from thinkeval.service.rules.verdicts import ShareOut, TallyOut


def number(value: float | None) -> str:
    """Three decimals; a dash for what is not defined."""
    return "–" if value is None else f"{value:.3f}"


def plain_share(share: ShareOut) -> str:
    """`0.500 (n = 4, 2 undefined)`."""
    left = f", {share.undefined} undefined" if share.undefined else ""
    return f"{number(share.value)} (n = {share.n}{left})"


def share_text(tally: TallyOut) -> str:
    """The whole; then its parts, where the data set states some of the conclusions by itself."""
    if not tally.stated.n + tally.stated.undefined:
        return plain_share(tally)
    return (
        f"{plain_share(tally)}: {plain_share(tally.only_implied)} only by rules,"
        f" {plain_share(tally.stated)} stated by the data set too"
    )
