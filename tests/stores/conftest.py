"""Fixtures for the stores."""

from pathlib import Path

import pytest

from cortext.testing.suite_base import message, session
from tests.stores.files import KINDS, Place


@pytest.fixture(params=KINDS)
def saved_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    place = Place(request.param, tmp_path / "place")
    place.open().save(session("s", message("one")))
    return place
