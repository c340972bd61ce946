"""A certificate for servers of the tests, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


def certificate(folder: Path, name: str, *more: str) -> tuple[Path, Path]:
    """A certificate for this machine that signs itself, and its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [OPENSSL or "openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
         "-keyout", str(key), "-out", str(cert), *(more or ("-nodes",))],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key
