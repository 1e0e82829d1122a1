"""The command `cortext mcp`: serve past conversations to AI tools over MCP."""

from __future__ import annotations

import sys

import click

from cortext.cli.common_options import Number


@click.command("mcp")
@click.option(
    "--http",
    "port",
    type=Number(0, 65535),
    metavar="PORT",
    help="Serve over HTTP on this port of 127.0.0.1. 0 means any free port.",
)
def command(port: int | None) -> None:
    """Serve past conversations to an AI tool over the Model Context Protocol (MCP).

    AI tools start this command automatically and use it over stdin and stdout. `cortext setup` adds
    the command to their settings. It serves the conversations of the workspace in which the tool
    runs.

    With --http, the command prints the address of the server and a token. Every request must
    contain the token. To choose the token yourself, set CORTEXT_MCP_TOKEN.
    """
    if port is not None:
        from cortext.mcp.http_transport import serve_http

        serve_http(port, _print_address)
        return
    from cortext.mcp.mcp_server import serve_stdio

    if sys.stdin.isatty():
        click.echo(
            "serving MCP on stdin and stdout; AI tools start this command automatically", err=True
        )
    serve_stdio()


def _print_address(address: str, token: str) -> None:
    click.echo(f"serving MCP on {address}\ntoken: {token}", err=True)
