"""The spellings of a model's name, and how names and patterns of names are compared.

AI tools and providers write the name of one model in many ways: `claude-sonnet-4-5`,
`claude-sonnet-4-5-20250929`, `anthropic/claude-sonnet-4.5:thinking`, `claude-sonnet-4-5[1m]`,
`claude-sonnet-4-5@20250929`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

# Endings of a name that do not change the price. `:free` and `:batch` are left out, because they
# change it.
_SUFFIX = re.compile(
    r"\[[^\[\]]*\]$|@[^@]*$|-latest$|-\d{8}$|-\d{4}-\d{2}-\d{2}$"
    r"|:(?:thinking|beta|exacto|nitro|floor|online|extended)$"
)
# A name on Amazon Bedrock: region, maker, model, version.
_BEDROCK = re.compile(
    r"(?:[a-z]+(?:-gov)?\.)?"
    r"(?:amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|moonshot|nvidia"
    r"|openai|qwen|writer|xai|zai)\.(?P<model>[a-z].*?)(?:-v\d+)?(?::\d+)?(?::\d+k)?"
)
_LOCAL = frozenset(["llama.cpp", "llamacpp", "lmstudio", "local", "mlx", "ollama", "vllm"])
"""Providers that run models on the user's own machine, where list prices mean nothing."""

_LONGEST_NAME = 200
"""The maximum length of a model's name. For a longer text, no other spelling is tried."""

_Value = TypeVar("_Value")


def spellings_of(model: str) -> list[str]:
    """Return the names under which a model may be listed, the most specific name first.

    All names are in lower case. The names of `provider/model` include `model` alone, unless the
    provider runs models on the user's machine.
    """
    whole = model.strip().lower()
    if len(whole) > _LONGEST_NAME:
        return [whole]
    parts = whole.split("/")
    names = [whole] if parts[0] in _LOCAL else [whole, "/".join(parts[-2:]), parts[-1]]
    for name in names:  # the loop also visits the names that it appends
        bedrock = _BEDROCK.fullmatch(name)
        shorter = (bedrock["model"] if bedrock else "", _SUFFIX.sub("", name))
        names += [each for each in dict.fromkeys(shorter) if each and each not in names]
    return [*dict.fromkeys(name for name in names if name)]


def is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def match_pattern(pattern: str, name: str) -> bool:
    """Return whether a name matches a pattern with `*`, `?` or `[…]`."""
    # Compiling hundreds of patterns takes longer than reading the whole price table.
    if pattern.endswith("*") and not is_pattern(pattern[:-1]):
        return name.startswith(pattern[:-1])
    return is_pattern(pattern) and fnmatchcase(name, pattern)


class NameTable(Generic[_Value]):
    """A table of values by model. Its keys are model names and patterns of names, in lower case."""

    def __init__(self, known: Mapping[str, _Value]) -> None:
        self._exact = dict(known)
        self._patterns = sorted(filter(is_pattern, known), key=len, reverse=True)

    def find(self, model: str) -> _Value | None:
        """Return the value for a model, or None if the table has no value for it.

        All spellings of the name are tried. An exact name takes precedence over a pattern, and a
        longer pattern takes precedence over a shorter one.
        """
        names = spellings_of(model)
        for name in names:
            if name in self._exact:
                return self._exact[name]
        for pattern in self._patterns:
            if any(match_pattern(pattern, name) for name in names):
                return self._exact[pattern]
        return None
