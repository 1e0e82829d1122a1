"""Bring the stored usage up to date: a background process that the status line starts.

Run it with `python -m cortext.features.usage.background_usage_refresh [SESSION PATH]`. Without
arguments, it reads the new lines of all transcripts, otherwise those of one session.
"""

from __future__ import annotations

import sys

from cortext.catalog.catalog import Catalog
from cortext.config import Config
from cortext.features.errors_log import write_error
from cortext.features.usage.prices import load_prices
from cortext.features.usage.usage_refresh import refresh_session, refresh_usage
from cortext.tools.registry import tools


def refresh(session: str = "", path: str = "") -> None:
    """Read the new usage of one session, or of all sessions if no session is given.

    An error is written to the log that `cortext doctor` shows.
    """
    try:
        prices = load_prices(str(Config.load(None)["stats.prices"]))
        with Catalog.at_home() as catalog:
            if session:
                for tool in tools():
                    if tool.has_status_line:
                        refresh_session(catalog, prices, tool.name, session, path)
            else:
                refresh_usage(catalog, prices)
    except Exception as error:  # noqa: BLE001  nobody sees the output of this process
        write_error("reading the usage for the status line", error)


if __name__ == "__main__":
    refresh(*sys.argv[1:3])
