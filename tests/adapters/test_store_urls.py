"""Which stores an adapter opens by a URL."""

import pytest

from cortext.adapters.session_log import open_kept


def test_a_url_with_capitals_is_no_folder() -> None:
    """It is refused, without its password."""
    with pytest.raises(ValueError, match="not a store of sessions") as raised:
        open_kept("Redis://:secret@h/0")
    assert "secret" not in str(raised.value)
