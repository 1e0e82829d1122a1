"""A redact that was killed: what it masked in the files, lists and the search index have still."""

from __future__ import annotations

from cortext.features.doctor.problem import NOTHING, WARNING, Found, Mend, Mended, Problem
from cortext.features.secrets.purge_index import begun_path, forget_words, is_unfinished


def check_begun() -> Found:
    """Whether one did not come to its end. One that is going on now is let alone."""
    if not is_unfinished():
        return NOTHING
    path = begun_path()
    text = f"{path}: a redact was killed before lists and search index forgot what it masked"
    hint = "`cortext doctor --fix` has them forget it, and so does the next `cortext redact`"
    mend = "have lists and search index forget what a redact masked that was killed"
    problem = Problem(text, hint, WARNING, path, mend=mend)
    return Found([problem], Mend(mend, _mend))


def _mend() -> Mended | None:
    if not is_unfinished():
        return None
    forget_words()
    return Mended("lists and search index have forgotten what was masked", [])
