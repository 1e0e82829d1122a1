"""The mount path: the path at which another ASGI application has mounted the service."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

_BASE = "cortext.base"
_OUTER = "cortext.outer"


def inside(scope: Any) -> Any:
    """Return the ASGI scope of a request without the mount path in its `path`.

    The mount path is the path at which another application has mounted the service. Some servers
    and frameworks leave it in `path`, and others remove it. With this function, access checks and
    routing always see the same path.
    """
    root = scope.get("root_path", "").rstrip("/")
    if not root:
        return scope
    path = scope["path"]
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :] or "/"
    # Exactly one leading slash: a URL that starts with `//` leads to another host.
    base = quote(f"/{root.lstrip('/')}")
    return {**scope, "path": path, "root_path": "", _BASE: base, _OUTER: scope}


def outside(scope: Any) -> Any:
    """Return the ASGI scope that was passed to `inside`. `scope` is what `inside` returned."""
    return scope.get(_OUTER, scope)


def base_of(scope: Any) -> str:
    """Return the mount path of the service, as a prefix for links.

    Return "" if the service is not mounted in another application.
    """
    return scope.get(_BASE, "")
