"""The mount path: the path of another ASGI application below which the service is mounted."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

_BASE = "cortext.base"
_OUTER = "cortext.outer"


def inside(scope: Any) -> Any:
    """Return the ASGI scope of a request without the mount path in its `path`.

    Some servers and frameworks leave the mount path in `path`, and others remove it. With this
    function, access checks and routing always see the same path.
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
    """Return the original ASGI scope, from which `inside` made `scope`."""
    return scope.get(_OUTER, scope)


def base_of(scope: Any) -> str:
    """Return the mount path, to be put before the paths in links; "" if there is none."""
    return scope.get(_BASE, "")
