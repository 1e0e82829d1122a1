"""`cortext serve`."""

from __future__ import annotations

import re
import sys
from typing import Any
from urllib.parse import urlsplit

import click

from cortext import paths
from cortext.cli.common_options import Number
from cortext.config import Config
from cortext.errors import CortextError, InvalidIdError
from cortext.model.ids import check_id
from cortext.service.http.auth import new_token
from cortext.service.http.store_urls import shown_store

_SPAN = re.compile(r"([0-9]{1,10}(?:\.[0-9]{1,6})?) ?([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds(_context: object, _option: object, given: str | None) -> float | None:
    """Return a time span such as `3600`, `30m` or `7d` in seconds.

    Raises BadParameter for other text.
    """
    if given is None:
        return None
    found = _SPAN.fullmatch(given.strip())
    length = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if 0 <= length < 1e9:
        return length
    raise click.BadParameter(
        f"{given[:60]!r} is no span of time: write seconds (3600), or 30m, 12h, 7d; 0 is for ever"
    )


@click.command("serve")
@click.option(
    "--store",
    metavar="URL",
    default="memory:",
    show_default=True,
    help="Where conversations live: memory:, file:PATH, redis://HOST:PORT/DB, "
    "postgresql://HOST/DATABASE.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=Number(0, 65535),
    default=8733,
    show_default=True,
    help="The port; 0 is any that is free.",
)
@click.option(
    "--workers",
    type=Number(1, 64),
    default=1,
    show_default=True,
    help="How many processes answer; they need a store that they share.",
)
@click.option(
    "--window",
    metavar="N",
    type=Number(0, 100_000),
    help="How many of its last messages a conversation shows; 0 is all. 20 unless you say so.",
)
@click.option(
    "--ttl",
    metavar="SECONDS",
    callback=seconds,
    help="How long a conversation lives without a message, in seconds or as 30m, 12h or 7d; 0 is "
    "for ever. An hour unless you say so; with file: and postgresql: for ever.",
)
@click.option(
    "--max-conversations",
    "most",
    metavar="N",
    type=Number(0),
    help="How many there may be before the oldest go; 0 is any number. 1,000 unless you say so; "
    "with file: and postgresql: any number.",
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="A further name that clients call this server by; can be given several times.",
)
@click.option(
    "--pages", is_flag=True, help="Web pages too: each client sees its conversations in a browser."
)
@click.option(
    "--new-token",
    "client",
    metavar="NAME",
    help="Make and print a token for another client, which gets conversations of its own; serve "
    "nothing.",
)
def command(
    store: str,
    host: str,
    port: int,
    workers: int,
    window: int | None,
    ttl: float | None,
    most: int | None,
    names: tuple[str, ...],
    pages: bool,
    client: str | None,
) -> None:
    """Serve conversations to programs, over HTTP.

    A token is made at the first start, and every request for data has to have it. With memory:
    conversations are gone when the server stops; the other stores keep them.

    With --pages a browser shows them; in a terminal the link to open is printed.

    The settings serve.rate, serve.max_body and serve.max_streams limit what a client may ask for.
    """
    folder = paths.service_tokens()
    if client is not None:
        click.echo(new_token(folder, _name(client)))
        return
    from cortext.service.http.http_server import Settings, serve

    config = Config.load(None)

    serve(
        Settings(
            store=store,
            tokens=folder,
            host=host,
            port=port,
            workers=workers,
            bounds=_bounds(window, ttl, most),
            names=names,
            rate=config["serve.rate"],
            max_body=config["serve.max_body"],
            max_streams=config["serve.max_streams"],
            pages=pages,
        ),
        lambda address: _tell(address, store, folder, pages=pages),
    )


def _tell(address: str, store: str, folder: str, *, pages: bool) -> None:
    from cortext.service.http.http_server import is_loopback, page_link

    _say(f"serving {shown_store(store)} on {address}")
    _say(f"tokens: {folder}")
    if pages:
        # A log is no place for a token: there it is only said where that is.
        link = page_link(folder, address) if sys.stderr.isatty() else ""
        _say(f"pages: {link or f'{address}/ (sign in with a token)'}")
    if not is_loopback(urlsplit(address).hostname or ""):
        _say("others can reach it, and nothing is encrypted: see docs/how-to/serve.md")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _name(client: str) -> str:
    """Return the name of a client if it is valid as a file name; otherwise raise CortextError."""
    try:
        return check_id(client)
    except InvalidIdError:
        raise CortextError(
            f"{client[:60]!r} is not a name that a client can have",
            hint="a name has 1 to 128 letters a to z, digits, '.', '_' or '-' and starts with a "
            "letter or digit",
        ) from None


def _bounds(window: int | None, ttl: float | None, most: int | None) -> dict[str, Any]:
    """Return the limits that the user gave, as arguments of the store.

    Limits that were not given are left out, so that the store's defaults apply. A given 0 becomes
    None, which means no limit.
    """
    given = {
        "window": window,
        "ttl": ttl,
        "max_conversations": most,
    }
    return {name: value or None for name, value in given.items() if value is not None}
