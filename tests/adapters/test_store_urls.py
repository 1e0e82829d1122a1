"""Which stores an adapter opens by a URL."""

import pytest

from cortext.adapters.session_log import open_adapter_store


def test_open_kept_refuses_url_with_capital_scheme_and_hides_password() -> None:
    """It is refused, without its password."""
    with pytest.raises(ValueError, match="not a session store") as raised:
        open_adapter_store("Redis://:secret@h/0")
    assert "secret" not in str(raised.value)
