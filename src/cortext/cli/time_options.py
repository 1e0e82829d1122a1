"""The types of options whose value is a time, such as `--since`."""

from __future__ import annotations

from typing import Any

import click

from cortext.errors import CortextError
from cortext.features.listing.time_ranges import since, until


class SinceType(click.ParamType[int]):
    """The click type of an option such as `--since`: a date, or an age such as `7d`.

    `convert` returns a time in microseconds since 1970. For a day or a month, this is the time at
    which the day or month begins.
    """

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value

        try:
            return self._parse(str(value))
        except CortextError as error:
            self.fail(f"{error}; {error.hint}", param, ctx)

    def _parse(self, text: str) -> int:
        return since(text)


class UntilType(SinceType):
    """The click type of `--until`: a date, or an age such as `7d`.

    `convert` returns a time in microseconds since 1970. For a day or a month, this is the time at
    which the day or month ends.
    """

    def _parse(self, text: str) -> int:
        return until(text)
