"""/v1/depedit: knowledge sets, runs of the protocol on them, jobs that do those, and tables."""

from __future__ import annotations

from fastapi import APIRouter

from thinkeval.service.api import depedit, depedit_jobs, depedit_runs

router = APIRouter()
for part in (depedit, depedit_runs, depedit_jobs):
    router.include_router(part.router)
