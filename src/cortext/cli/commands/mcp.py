"""`cortext mcp`."""

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
    help="Serve HTTP on this port of 127.0.0.1 instead; 0 is any that is free.",
)
def command(port: int | None) -> None:
    """Serve past conversations to an AI tool, over the Model Context Protocol.

    Tools start it by themselves and talk to it by stdin and stdout; `cortext setup` tells them
    to. It serves the conversations of the workspace that the tool works in.

    With --http it prints the address and a token, which every request has to have; to choose the
    token, set CORTEXT_MCP_TOKEN.
    """
    if port is not None:
        from cortext.mcp.http_transport import serve_http

        serve_http(port, _tell)
        return
    from cortext.mcp.mcp_server import serve_stdio

    if sys.stdin.isatty():
        click.echo("serving MCP on stdin and stdout; an AI tool starts this by itself", err=True)
    serve_stdio()


def _tell(address: str, token: str) -> None:
    click.echo(f"serving MCP on {address}\ntoken: {token}", err=True)
