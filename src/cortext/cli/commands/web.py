"""`cortext web`."""

from __future__ import annotations

import threading
import webbrowser
from urllib.parse import urlsplit

import click

from cortext.cli.common_options import Number
from cortext.service.http.store_urls import store_to_show


@click.command("web")
@click.option(
    "--port",
    type=Number(0, 65535),
    metavar="PORT",
    help="The port on 127.0.0.1; 0 is any that is free.  [default: 8642, or any]",
)
@click.option(
    "--store",
    metavar="URL",
    help="Show what a conversation store keeps, too: file:PATH, redis://HOST:PORT/DB, "
    "postgresql://HOST/DATABASE.",
)
@click.option("--no-open", is_flag=True, help="Only print the link; open no browser.")
def command(port: int | None, store: str | None, no_open: bool) -> None:
    """Look at all conversations in a browser.

    It prints a link, opens it, and serves its pages until Ctrl+C. Only this machine can reach them,
    and only a browser that was given the link; nothing is fetched from anywhere else.
    """
    from cortext.web.web_server import PORT, serve

    shown = store_to_show(store) if store is not None else None

    def tell(link: str, once: str) -> None:
        number = urlsplit(link).port
        if port is None and number != PORT:
            click.echo(f"port {PORT} is taken; using {number}", err=True)
        click.echo(link)
        click.echo("all your conversations are there until you press Ctrl+C", err=True)
        if not no_open and not _open(once):
            click.echo("no window can be opened from here: open the link in your browser", err=True)

    serve(port, tell, shown)


def _open(link: str) -> bool:
    """Open a link in the user's browser and return whether that was possible.

    A browser that would run in this terminal is not used.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser:
        return False
    # Some browsers answer only when the page is there, which is served after this.
    threading.Thread(target=browser.open, args=(link,), daemon=True).start()
    return True
