"""Code in colours, and what has none."""

from cortext.web.markdown_html import coloured


def test_a_long_block_in_a_rare_language_is_plain() -> None:
    """Some rules take quadratic time: one block of blank lines would stall the page."""
    assert coloured("\n" * 30_000, "autohotkey") == "\n" * 30_000
    assert "<span" not in coloured('x := "1"\n' * 300, "autohotkey")


def test_a_short_block_in_any_language_has_colours() -> None:
    assert "<span" in coloured('x := "1"\n', "autohotkey")


def test_a_long_block_in_a_usual_language_has_colours() -> None:
    for language in ("python", "Python", "js"):
        assert "<span" in coloured('x = "1"\n' * 1_000, language)


def test_a_block_of_blank_lines_is_plain() -> None:
    """Also in usual languages."""
    for language in ("c", "java", "markdown", "python"):
        text = "int x;" + "\n " * 10_000
        assert coloured(text, language) == text
