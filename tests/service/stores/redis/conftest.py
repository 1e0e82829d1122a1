"""Fixtures for conversations on Redis."""

import uuid

import pytest


@pytest.fixture
def key_prefix() -> str:
    return f"test-{uuid.uuid4()}"
