"""Code in colours, and what has none."""

from cortext.web.markdown_html import coloured


def test_long_code_block_in_rare_language_is_not_coloured() -> None:
    """Some rules take quadratic time: one block of blank lines would stall the page."""
    assert coloured("\n" * 30_000, "autohotkey") == "\n" * 30_000
    assert "<span" not in coloured('x := "1"\n' * 300, "autohotkey")


def test_short_code_block_in_any_language_is_coloured() -> None:
    assert "<span" in coloured('x := "1"\n', "autohotkey")


def test_long_code_block_in_common_language_is_coloured() -> None:
    for language in ("python", "Python", "js"):
        assert "<span" in coloured('x = "1"\n' * 1_000, language)


def test_code_block_of_blank_lines_is_not_coloured() -> None:
    """Also in usual languages."""
    for language in ("c", "java", "markdown", "python"):
        text = "int x;" + "\n " * 10_000
        assert coloured(text, language) == text
