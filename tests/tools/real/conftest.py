"""Fixtures for the real tools."""

import pytest

from tests.tools.real.four_tools import FOUR


@pytest.fixture(params=list(FOUR))
def tool_name(request: pytest.FixtureRequest) -> str:
    return request.param
