"""The command `cortext web`: browse all conversations in a web browser."""

from __future__ import annotations

import threading
import webbrowser
from urllib.parse import urlsplit

import click

from cortext.cli.common_options import Number
from cortext.service.http.service_store_opener import store_to_show


@click.command("web")
@click.option(
    "--port",
    type=Number(0, 65535),
    metavar="PORT",
    help="The port on 127.0.0.1; 0 means any free port.  [default: 8642, or any free port]",
)
@click.option(
    "--store",
    metavar="URL",
    help="Also show the conversations of a store: file:PATH, redis://HOST:PORT/DB, "
    "postgresql://HOST/DATABASE.",
)
@click.option("--no-open", is_flag=True, help="Print the link, but do not open a browser.")
def command(port: int | None, store: str | None, no_open: bool) -> None:
    """Show all your conversations in a browser.

    The command prints a link, opens it, and runs until Ctrl+C. The pages can be reached only from
    this machine, and only with this link. They load nothing from the internet.
    """
    from cortext.web.web_server import PORT, serve

    shown_store = store_to_show(store) if store is not None else None

    def print_link(link: str, once: str) -> None:
        number = urlsplit(link).port
        if port is None and number != PORT:
            click.echo(f"Port {PORT} is in use. Using port {number}.", err=True)
        click.echo(link)
        click.echo("Your conversations are at this link until you press Ctrl+C.", err=True)
        if not no_open and not _open_browser(once):
            click.echo("Could not open a browser. Open the link yourself.", err=True)

    serve(port, print_link, shown_store)


def _open_browser(link: str) -> bool:
    """Open a link in the user's browser. Return False if there is no graphical browser."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser:
        return False
    # Use a thread, because some browsers return only after the page has loaded, and the server
    # starts later.
    threading.Thread(target=browser.open, args=(link,), daemon=True).start()
    return True
