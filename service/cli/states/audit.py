"""`thinkeval audit`: a comparison as a folder that opens without a server, chained by digests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...audit.schemas import ENTRIES, PAGE, Entry, Verified
from ...errors import UsageError
from ..options import JsonFlag
from ..output import emit_command, emit_json, emit_note
from ..progress import ProgressBars

ALTERED = 1
"""Exit code where an audit is not as it was written."""


def audit(
    comparison: Annotated[
        str | None, typer.Argument(help="Id of a comparison: `thinkeval comparisons` lists them.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; a new one.")
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the seal with this private key, by ssh-keygen or minisign."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an audit in the folder.")] = False,
    verify: Annotated[
        Path | None, typer.Option(help="Verify the audit in this folder instead of writing one.")
    ] = None,
    signer: Annotated[
        Path | None,
        typer.Option(
            help="With --verify: by whom the seal must be signed, a public key or a file of"
            " allowed signers (ssh)."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Write what a comparison found about a forgotten fact as a folder that opens without a server.

    [bold]audit.html[/bold] has the verdict, the routes that are open, every fact and query;
    [bold]entries.jsonl[/bold] the same as entries, each with the digest of the one before.
    [bold]thinkeval audit --verify FOLDER[/bold] needs no database, names the first entry or file
    that was altered, and exits with 1 then.
    """
    if verify is not None:
        _refuse({"COMPARISON": comparison, "-o": output, "--sign": sign, "--force": force or None})
        _verify(verify, signer, json)
        return
    if comparison is None or output is None:
        raise UsageError(
            "Name a comparison and a folder, or a folder to verify.",
            remedy="thinkeval audit COMPARISON -o FOLDER; thinkeval audit --verify FOLDER.",
        )
    if signer is not None:
        raise UsageError("--signer is for --verify.", remedy="A new audit is signed by --sign KEY.")
    _write(comparison, output, sign, force, json)


def _refuse(given: dict[str, object]) -> None:
    named = next((name for name, value in given.items() if value is not None), None)
    if named is not None:
        raise UsageError(f"--verify takes no {named}.", remedy="Leave it out.")


def _write(comparison: str, folder: Path, key: Path | None, force: bool, json: bool) -> None:
    from ...audit.bundle import audit as written
    from ...scoring.runtime import Runtime
    from ...settings import Settings

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        entries = written(runtime.db, comparison, folder, force=force, key=key)
    found = next(each.data for each in entries if each.kind == "verdict")
    if json:
        emit_json(_summary(folder, entries, found))
        return
    emit_note(found["headline"], "bold")
    for each in found["requests"]:
        emit_note(each["chains"])
        emit_note(each["rules"])
    emit_note(found["rest"])
    emit_note(f"{folder / PAGE}, {len(entries)} entries")
    emit_note(f"seal {entries[-1].digest}: keep it elsewhere, or sign it (--sign KEY).", "dim")
    emit_command(f"thinkeval audit --verify {folder}")


def _summary(folder: Path, entries: list[Entry], verdict: dict[str, object]) -> dict[str, object]:
    return {
        "folder": str(folder),
        "entries": len(entries),
        "seal": entries[-1].digest,
        "signature": entries[-1].data["signature"],
        "verdict": verdict,
    }


def _verify(folder: Path, signer: Path | None, json: bool) -> None:
    from ...audit.verify import verify

    found = verify(folder, signer)
    if json:
        emit_json(found.model_dump(mode="json"))
    else:
        _show(found, folder)
    if not found.ok:
        raise typer.Exit(ALTERED)


def _show(found: Verified, folder: Path) -> None:
    """Print what was altered first, or that nothing was."""
    altered = found.altered
    if altered is None:
        emit_note(f"{found.entries} entries, unaltered, sealed {found.seal}.", "bold")
        emit_note(f"{found.comparison}, written {found.created_at}.")
        _show_signature(found)
        return
    entry = "" if altered.n is None else f" {altered.n}"
    kind = f" ({altered.kind})" if altered.kind else ""
    if altered.file == ENTRIES:
        emit_note(f"Altered: entry{entry}{kind}: {altered.why}.", "bold")
    else:
        by = f" [entry{entry}{kind}]" if altered.n is not None else ""
        emit_note(f"Altered: {altered.file} ({altered.what}): {altered.why}{by}.", "bold")
    emit_note(f"{folder} is not as it was written.")


def _show_signature(found: Verified) -> None:
    signed = found.signature
    if signed is None:
        emit_note("Not signed: compare the seal's digest with the one that was kept elsewhere.")
    elif signed.trusted:
        emit_note(f"Signed by {signed.by} ({signed.format}).")
    elif signed.valid:
        emit_note(f"Signed by {signed.by or 'a key'} ({signed.format}); {signed.note} (--signer).")
    else:
        emit_note(f"Its signature was not checked: {signed.note} (--signer).")
