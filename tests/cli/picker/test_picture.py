"""The picture in the README is of the picker as it is."""

from tests.cli.picker.picture import PICTURE, draw


def test_readme_picture_matches_current_picker() -> None:
    """Drawn from real files it is the one in docs; `python -m tests.cli.picker.picture` renews it,
    and it fetches nothing from anywhere."""
    picture = PICTURE.read_text(encoding="utf-8")
    assert "url(http" not in picture.replace("url(#", "")
    assert draw() == picture
