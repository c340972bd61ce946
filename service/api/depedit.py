"""/v1/depedit: knowledge sets, runs of the protocol on them, and the tables over those."""

from __future__ import annotations

from fastapi import APIRouter

from service.api import depedit_runs, depedit_sets

router = APIRouter()
for part in (depedit_sets, depedit_runs):
    router.include_router(part.router)
