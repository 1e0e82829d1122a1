"""The command `cortext serve`: serve conversations to programs over HTTP."""

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
from cortext.service.http.access_tokens import new_token
from cortext.service.http.service_store_opener import shown_store

_SPAN = re.compile(r"([0-9]{1,10}(?:\.[0-9]{1,6})?) ?([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds(_context: object, _option: object, given: str | None) -> float | None:
    """Convert an option such as `3600`, `30m` or `7d` to seconds.

    Return None if the option is not given. Raises BadParameter if the text is not a time span.
    """
    if given is None:
        return None
    match = _SPAN.fullmatch(given.strip())
    length = float(match[1]) * _UNITS[match[2]] if match else -1.0
    if 0 <= length < 1e9:
        return length
    raise click.BadParameter(
        f"{given[:60]!r} is not a time span; write seconds (3600), or 30m, 12h, 7d; 0 means never"
    )


@click.command("serve")
@click.option(
    "--store",
    metavar="URL",
    default="memory:",
    show_default=True,
    help="Where to store conversations: memory:, file:PATH, redis://HOST:PORT/DB, "
    "postgresql://HOST/DATABASE.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=Number(0, 65535),
    default=8733,
    show_default=True,
    help="The port to listen on; 0 means any free port.",
)
@click.option(
    "--workers",
    type=Number(1, 64),
    default=1,
    show_default=True,
    help="The number of server processes. Several processes need a store that they can share.",
)
@click.option(
    "--window",
    metavar="N",
    type=Number(0, 100_000),
    help="Return only the last N messages of a conversation; 0 returns all.  [default: 20]",
)
@click.option(
    "--ttl",
    metavar="SECONDS",
    callback=seconds,
    help="Delete a conversation after this time without a message. Write seconds, or 30m, 12h, 7d; "
    "0 means never.  [default: 1h; never with file: and postgresql:]",
)
@click.option(
    "--max-conversations",
    "most",
    metavar="N",
    type=Number(0),
    help="Keep at most N conversations, and delete the oldest first; 0 means no limit.  "
    "[default: 1,000; no limit with file: and postgresql:]",
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another host name that clients use for this server. Can be repeated.",
)
@click.option(
    "--pages",
    is_flag=True,
    help="Also serve web pages, where each client sees its own conversations.",
)
@click.option(
    "--new-token",
    "client",
    metavar="NAME",
    help="Create a token for another client, print it and exit. Each client has its own "
    "conversations.",
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
    """Serve conversations to programs over HTTP.

    The first start creates a token. Every request for data needs a token. Conversations in
    the store `memory:` are lost when the server stops. The other stores keep them.

    With --pages, a browser shows the conversations. In a terminal, the link to open is printed.

    The settings serve.rate, serve.max_body and serve.max_streams limit the requests of a client.
    """
    folder = paths.service_tokens()
    if client is not None:
        click.echo(new_token(folder, _check_client_name(client)))
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
            bounds=_store_limits(window, ttl, most),
            names=names,
            rate=config["serve.rate"],
            max_body=config["serve.max_body"],
            max_streams=config["serve.max_streams"],
            pages=pages,
        ),
        lambda address: _print_address(address, store, folder, pages=pages),
    )


def _print_address(address: str, store: str, folder: str, *, pages: bool) -> None:
    from cortext.service.http.http_server import is_loopback, page_link

    _print_line(f"serving {shown_store(store)} on {address}")
    _print_line(f"tokens: {folder}")
    if pages:
        # Print the link only to a terminal, because its token must not be in a log file.
        link = page_link(folder, address) if sys.stderr.isatty() else ""
        _print_line(f"pages: {link or f'{address}/ (sign in with a token)'}")
    if not is_loopback(urlsplit(address).hostname or ""):
        _print_line(
            "warning: other machines can reach this server, and its connections are not encrypted"
        )
        _print_line("hint: see docs/how-to/running-a-service/serve.md")


def _print_line(line: str) -> None:
    click.echo(line, err=True)


def _check_client_name(client: str) -> str:
    """Check the name of a client, and return it.

    Raises CortextError if the name contains characters that are not allowed.
    """
    try:
        return check_id(client)
    except InvalidIdError:
        raise CortextError(
            f"{client[:60]!r} is not a valid name for a client",
            hint="use 1 to 128 letters a to z, digits, '.', '_' or '-', starting with a letter or "
            "digit",
        ) from None


def _store_limits(window: int | None, ttl: float | None, most: int | None) -> dict[str, Any]:
    """Return the keyword arguments that limit the size of a conversation store.

    The parameters are the values of the user's options. If the user did not give an option, its
    value is None, and the result does not contain it. The store then uses its default. The value 0
    means no limit. The result contains None for it, because None means no limit to the store.
    """
    given = {
        "window": window,
        "ttl": ttl,
        "max_conversations": most,
    }
    return {name: value or None for name, value in given.items() if value is not None}
