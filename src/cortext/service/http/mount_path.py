"""Paths of a service that may be mounted below a path of another application."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

_BASE = "cortext.base"
_OUTER = "cortext.outer"


def inside(scope: Any) -> Any:
    """Return the scope of a request as if the service were not mounted below a path.

    Servers and frameworks differ in whether `path` still contains the mount path. In the returned
    scope, `path` never contains it. So access checks and routing see the same path.
    """
    root = scope.get("root_path", "").rstrip("/")
    if not root:
        return scope
    path = scope["path"]
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :] or "/"
    # Exactly one leading slash: a URL that begins with `//` points to another host.
    base = quote(f"/{root.lstrip('/')}")
    return {**scope, "path": path, "root_path": "", _BASE: base, _OUTER: scope}


def outside(scope: Any) -> Any:
    """Return the scope as the surrounding application passed it."""
    return scope.get(_OUTER, scope)


def base_of(scope: Any) -> str:
    """Return the mount path, which precedes every path of the service; "" if it is not mounted."""
    return scope.get(_BASE, "")
