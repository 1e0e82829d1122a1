"""The OpenAPI document of the service: litestar's document, plus the request bodies."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin

from cortext.model import json_codec
from cortext.service.http.mount_path import base_of
from cortext.service.http.routes import BODIES

_REFERENCE = "#/components/schemas/{name}"


class Schema(JsonRenderPlugin):
    """A litestar plugin that renders the OpenAPI document as JSON, with the request bodies.

    There is no HTML viewer, because HTML viewers load scripts from other hosts.
    """

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        (bodies, parts) = msgspec.json.schema_components(BODIES.values(), ref_template=_REFERENCE)
        openapi_schema["components"]["schemas"] |= parts
        for ((method, path), kind), schema in zip(BODIES.items(), bodies, strict=True):
            openapi_schema["paths"][path][method]["requestBody"] = {
                "content": {"application/json": {"schema": schema}},
                "required": any(field.required for field in msgspec.structs.fields(kind)),
            }
        base = base_of(request.scope)
        servers = {"servers": [{"url": base}]} if base else {}
        return json_codec.encode({**openapi_schema, **servers})
