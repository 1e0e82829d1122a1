"""Fixtures for conversations in PostgreSQL."""

import uuid

import pytest


@pytest.fixture
def schema() -> str:
    return f"test_{uuid.uuid4().hex}"
