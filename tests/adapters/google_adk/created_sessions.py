"""Processes that create one session at the same time."""

import asyncio
from pathlib import Path
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError

from cortext.adapters.google_adk import CortextSessionService
from tests.adapters.google_adk.scenes import APP, USER

WHO: dict[str, Any] = {"app_name": APP, "user_id": USER}


def create(place: Path, ready: Any, outcome: Any) -> None:
    service = CortextSessionService(place)
    ready.wait(60)
    try:
        asyncio.run(service.create_session(**WHO, session_id="s"))
    except AlreadyExistsError:
        outcome.put("exists")
    else:
        outcome.put("made")
