"""Short names for folders: each name is the shortest end of a path that no other folder has."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from cortext.model.safe_text import clean


def short_path(path: str) -> str:
    """Return a path for display, with `~` for the home folder."""
    home = os.path.expanduser("~").rstrip("/")
    text = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return clean(text, lines=False)


def project_names(folders: Iterable[str]) -> dict[str, str]:
    """Return a short name for each folder: the shortest end of its path that no other folder has.

    For example, the name of `/home/you/cli` is `cli`. If there is also `/tmp/old/cli`, the names
    are `you/cli` and `old/cli`. A folder "" has the name "".
    """
    parts_by_folder = {
        folder: short_path(folder.rstrip("/") or folder).split("/") for folder in set(folders)
    }
    names: dict[str, str] = {}
    depth = 1
    while parts_by_folder:
        ends = {
            folder: "/".join(parts[-depth:]) or "/" for folder, parts in parts_by_folder.items()
        }
        counts = Counter(ends.values())
        for folder, end in ends.items():
            if not folder:
                names[folder] = ""
            elif counts[end] == 1 or depth >= len(parts_by_folder[folder]):
                names[folder] = end
        parts_by_folder = {
            folder: parts for folder, parts in parts_by_folder.items() if folder not in names
        }
        depth += 1
    return names
