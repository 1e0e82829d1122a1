"""Columns of text for lists."""

import time

import pytest

from cortext.cli.views.text_table import align, find_width, format_local_times


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe"])
def test_format_local_times_matches_system_clock_in_every_zone(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all the hours of a year, in which clocks are changed, and before 1970."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        seconds = [*range(1735689600, 1767225600, 1800), -5_000_000_000, 0, 253_402_214_400]
        expected = [time.strftime("%Y-%m-%d %H:%M", time.localtime(each)) for each in seconds]
        assert format_local_times(each * 1_000_000 for each in seconds) == expected
    finally:
        monkeypatch.undo()
        time.tzset()


def test_align_fills_and_cuts_cells() -> None:
    assert align(["id", "a"], 3) == ["id ", "a  "]
    assert align(["n", "10"], 3, right=True) == ["  n", " 10"]
    assert align(["title", "a"], 3) == ["ti…", "a  "]


def test_wide_characters_take_two_columns() -> None:
    assert find_width(["ab", "日本"]) == 4
    assert align(["ab", "日本"], 4) == ["ab  ", "日本"]
