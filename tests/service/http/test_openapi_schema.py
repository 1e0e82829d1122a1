"""The service keeps what its OpenAPI says, whatever is sent."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from cortext import MemoryConversationStore
from cortext.asgi import create_app
from tests.service.http.background import Background

TOKEN = "t" * 20
EXAMPLES = 25
CALM = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def url() -> Any:
    app = create_app(MemoryConversationStore(), tokens={TOKEN: ""}, sessions=True)
    server = Background(app).start()
    yield server.url
    server.stop()


OPERATIONS = [
    "POST /v1/conversations",
    "GET /v1/conversations",
    "GET /v1/conversations/{id}",
    "PATCH /v1/conversations/{id}",
    "DELETE /v1/conversations/{id}",
    "POST /v1/conversations/{id}/messages",
    "GET /v1/conversations/{id}/messages",
    "GET /v1/conversations/{id}/summary",
    "GET /v1/sessions",
    "GET /v1/search",
]


@pytest.mark.hypothesis
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_response_matches_openapi_schema(
    url: str, operation: str, mode: GenerationMode
) -> None:
    """No 5xx, and every status, type and body is one that the schema names: for requests that fit
    it and for requests that do not."""
    schema = schemathesis.openapi.from_url(f"{url}/schema")
    found = schema.find_operation_by_label(operation)
    assert found is not None
    headers = {"Authorization": f"Bearer {TOKEN}"}

    @given(case=found.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=CALM)
    def check(case: Any) -> None:
        if "{id}" in operation and mode is GenerationMode.POSITIVE:
            made = httpx.post(f"{url}/v1/conversations", headers=headers).json()
            case.path_parameters = {"id": made["id"]}
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)

    try:
        check()
    except Unsatisfiable:
        # Nothing that is sent without a body or a parameter can fail to fit.
        assert mode is GenerationMode.NEGATIVE


def test_schema_test_covers_every_operation_but_events(url: str) -> None:
    """A route that is added is tried too, but for the one whose answer has no end."""
    schema = schemathesis.openapi.from_url(f"{url}/schema")
    labels = [str(result.ok().label) for result in schema.get_all_operations()]  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted(labels) == sorted([*OPERATIONS, "GET /v1/conversations/{id}/events"])
