"""Requests in the past tense."""

import time

import pytest

from cortext.service.stores.user_request_parser import parse_request


def told(text: str) -> str | None:
    action = parse_request(text)
    return None if action is None else f"{action.verb} {action.object}".strip()


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("search for React libraries", "searched for React libraries"),
        ("Search for: React libraries", "searched for React libraries"),
        ("analyze Zustand", "analyzed Zustand"),
        ("Analyse Zustand, please!", "analysed Zustand"),
        ("Can you please compare Redux with Jotai?", "compared Redux with Jotai"),
        ("Could you find me a small state library?", "looked for a small state library"),
        ("find out why the build is slow", "found out why the build is slow"),
        ("I'd like you to summarize the report for me", "summarized the report"),
        ("I’d like to try Zustand", "tried Zustand"),
        ("OK, now write a test", "wrote a test"),
        ("let's plan the release", "planned the release"),
        ("I'm looking for flights to Rome", "looked for flights to Rome"),
        ("We are searching for a flat", "searched for a flat"),
        ("show me the second one", "showed the second one"),
        ("tell me about hooks", "told about hooks"),
        ("check whether the server is up", "checked whether the server is up"),
        ("list all users whose name is Ann", "listed all users whose name is Ann"),
        ("search for a and compare the two", "searched for a and compared the two"),
        ("run find and replace tools", "ran find and replace tools"),
        ("Hi! I build a shop. Search for payment providers.", "searched for payment providers"),
        ("- fix the parser\n```\ndelete everything\n```", "fixed the parser"),
        ("copy the file", "copied the file"),
        ("format the file", "formatted the file"),
        ("continue", "continued"),
    ],
)  # fmt: skip
def test_request_becomes_past_tense_sentence(text: str, past: str) -> None:
    assert told(text) == past


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "?", "🙂", "Find", "What is it?", "React libraries", "hm", "Do you know Redux?",
        "Test results are bad", "search results look wrong", "List of libraries", "Use cases?",
        "Open source alternatives to Redux", "test.py is broken", "Don't delete anything",
        "Look, I need help", "the search is slow", "updates", "fix tests are failing",
        "Suche nach React-Bibliotheken", "cherche des bibliothèques", "найди библиотеки",
        "检索 React 库", "ابحث عن مكتبات", "\x00\x1b[31m", "```\nsearch for x\n```",
        "and please now",
    ],
)  # fmt: skip
def test_text_without_request_becomes_none(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize(
    "text",
    ["search " * 40_000, "and " * 80_000, "a " * 200_000, "please, " * 40_000, "x" * 400_000],
)
def test_parse_request_is_fast_on_long_text(text: str) -> None:
    begin = time.perf_counter()
    for _ in range(20):
        parse_request(text)
    assert time.perf_counter() - begin < 5
