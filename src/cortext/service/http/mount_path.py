"""Where the service stands: by itself, or below a path of another application."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

_BASE = "cortext.base"
_OUTER = "cortext.outer"


def inside(scope: Any) -> Any:
    """The scope of a request as if the service stood by itself. Servers and applications differ in
    whether the path of a mount is still in `path`; behind this it never is, so that what is judged
    is what is routed."""
    root = scope.get("root_path", "").rstrip("/")
    if not root:
        return scope
    path = scope["path"]
    if path == root or path.startswith(f"{root}/"):
        path = path[len(root) :] or "/"
    # One slash: two would be the address of another host.
    base = quote(f"/{root.lstrip('/')}")
    return {**scope, "path": path, "root_path": "", _BASE: base, _OUTER: scope}


def outside(scope: Any) -> Any:
    """The scope as the application around the service gave it."""
    return scope.get(_OUTER, scope)


def base_of(scope: Any) -> str:
    """What stands before every address of ours; "" if the service stands by itself."""
    return scope.get(_BASE, "")
