"""Checks of the arguments of `create_app`.

A wrong argument could give strangers access. The checks run before the first request, so that the
developer sees the mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from cortext.errors import CortextError
from cortext.service.http.access_tokens import AccessTokens
from cortext.service.stores.custom_store_adapter import METHODS

SHORTEST = 16
"""The smallest number of characters in a token or a secret. A shorter text can be guessed."""


def check_store(store: Any) -> None:
    """Raise CortextError unless `store` is an object with the methods of `ConversationStore`."""
    if isinstance(store, str):
        kind = store.partition(":")[0]
        place = "" if kind == "memory" else "…"  # a URL may contain a password
        raise CortextError(
            "the store must be an object, not text",
            hint=f"pass cortext.open_store('{kind}:{place}')",
        )
    missing = [name for name in METHODS if not callable(getattr(store, name, None))]
    if missing or isinstance(store, type):
        raise CortextError(
            f"{_kind(store)} cannot be served: it is not a ConversationStore",
            hint="pass an instance of the store"
            if isinstance(store, type)
            else f"these methods are missing: {', '.join(missing)}",
        )


def check_users(tokens: Any, owner_of: Any, *, sessions: bool) -> None:
    """Check the arguments of `create_app` that identify the user of a request.

    CortextError is raised if `owner_of` is combined with `tokens` or `sessions`. ValueError is
    raised if `owner_of` is not a function, or if `tokens` is neither an AccessTokens nor a dict
    that maps valid tokens to owners.
    """
    if owner_of is not None and tokens is not None:
        raise CortextError(
            "tokens and owner_of cannot be combined: both determine the owner of a request",
            hint="owner_of can read the header `Authorization`",
        )
    if owner_of is not None and sessions:
        raise CortextError(
            "sessions and owner_of cannot be combined: the conversations of this machine belong to "
            "its user, not to a user of the application",
            hint="serve them with a separate app that has tokens",
        )
    if owner_of is not None and not callable(owner_of):
        raise ValueError(f"owner_of must be a function of the ASGI scope, not {_kind(owner_of)}")
    if tokens is not None and not isinstance(tokens, AccessTokens):
        _check_tokens(tokens)


def _check_tokens(tokens: Any) -> None:
    if not isinstance(tokens, Mapping):
        raise ValueError(f"tokens must be a dict {{token: owner}}, not {_kind(tokens)}")
    for token, owner in cast("Mapping[Any, Any]", tokens).items():
        if not isinstance(token, str) or not isinstance(owner, str):
            raise ValueError("tokens must be a dict {token: owner} of strings")
        _check_length("a token", token)
        if token != token.strip() or not token.isprintable() or not token.isascii():
            raise ValueError("a token must have only printable ASCII characters")


def check_secret(secret: Any) -> None:
    if not isinstance(secret, str):
        raise ValueError(f"secret must be a string, not {_kind(secret)}")
    if secret:
        _check_length("a secret", secret)


def check_hosts(hosts: Any) -> None:
    """Check the host names under which clients may call the service.

    ValueError is raised if `hosts` is empty, or is a single string instead of a list. CortextError
    is raised if an entry is not a host name.
    """
    if isinstance(hosts, (str, bytes)) or not isinstance(hosts, Iterable):
        hint = f": write [{hosts!r}]" if isinstance(hosts, str) else ""
        raise ValueError(f"hosts must be a list of names, not {_kind(hosts)}{hint}")
    names = [*cast("Iterable[Any]", hosts)]
    if not names:
        raise ValueError("hosts must not be empty, because then no request is allowed")
    for name in names:
        if not isinstance(name, str) or not name.strip() or "/" in name:
            raise CortextError(
                f"{name!r:.80} is not a host name",
                hint="write a name such as chat.example, or * for any host",
            )


def check_numbers(numbers: Mapping[str, Any], least: Mapping[str, int]) -> None:
    for name, value in numbers.items():
        low = least.get(name, 0)
        if type(value) is not int or value < low:
            raise ValueError(f"{name} must be a whole number from {low}, not {value!r:.60}")


def check_switches(switches: Mapping[str, Any]) -> None:
    for name, value in switches.items():
        if type(value) is not bool:
            raise ValueError(f"{name} must be True or False, not {value!r:.60}")


def _check_length(what: str, text: str) -> None:
    if len(text) < SHORTEST:
        raise ValueError(
            f"{what} must have at least {SHORTEST} characters, not {len(text)}: "
            "Python's secrets.token_urlsafe() makes one"
        )


def _kind(value: Any) -> str:
    return type(value).__name__
