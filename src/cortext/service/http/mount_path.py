"""The mount path: the path at which another ASGI application has mounted the service."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

_BASE = "cortext.base"
_OUTER = "cortext.outer"


def inside(scope: Any) -> Any:
    """Remove the mount path from the `path` of a request, and return the new ASGI scope.

    The mount path is the path at which another application has mounted the service. Some servers
    and frameworks leave the mount path in `path`, and others remove it. After this function, `path`
    is always the same for access checks and routing.
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
    """Return the original ASGI scope, as it was before the call of `inside`.

    `scope` is the result of `inside`.
    """
    return scope.get(_OUTER, scope)


def base_of(scope: Any) -> str:
    """Return the mount path of the service, which is the start of the path of every link.

    Return "" if the service is not mounted in another application.
    """
    return scope.get(_BASE, "")
