"""The HTTP service as an ASGI application, for your own servers and applications.

    from cortext import MemoryConversationStore
    from cortext.asgi import create_app

    app = create_app(MemoryConversationStore(), tokens={"a-long-secret-of-annas": "anna"})

Serve the application with any ASGI server, or mount it in a FastAPI or Starlette application.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortext.service.http.application import Service, create_app

__all__ = ["Service", "create_app"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cortext.asgi' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module("cortext.service.http.application"), name)
    globals()[name] = value
    return value
