"""Secrets in settings files, recognized by their names."""

import pytest

from cortext.model.secrets.settings_redaction import mask_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"TOKEN": "short"}', '{"TOKEN": "[secret removed]"}'),
        ('SECRET_KEY = "abc123"', 'SECRET_KEY = "[secret removed]"'),
        ("password = 'pw'", "password = '[secret removed]'"),
        ('"args": ["--api-key",\n "abcd"]', '"args": ["--api-key",\n "[secret removed]"]'),
        ('["--token=abcd", "x"]', '["--token=[secret removed]", "x"]'),
        ('["Authorization: Bearer z"]', '["Authorization: [secret removed]"]'),
        ('token = """hunter2\nmore"""\nx = 1', 'token = """[secret removed]"""\nx = 1'),
        ("token = '''hunter2'''", "token = '''[secret removed]'''"),
        (
            '{"pwd": ["a", ["b"], 3], "d": ["e"]}',
            '{"pwd": ["[secret removed]", ["[secret removed]"], "[secret removed]"], "d": ["e"]}',
        ),
        ('{"api_key": 12345678, "a": 1}', '{"api_key": "[secret removed]", "a": 1}'),
        ("pin_token = 1234 # why\n[a]\n", 'pin_token = "[secret removed]" # why\n[a]\n'),
        ('["--token", 1234, 5]', '["--token", "[secret removed]", 5]'),
        ('token = "not closed\nb = "c"', 'token = "[secret removed]\nb = "c"'),
        ('# """\ntoken = "a"\n', '# """\ntoken = "[secret removed]"\n'),
        (r'{"password": "a\"b", "c": "d"}', '{"password": "[secret removed]", "c": "d"}'),
    ],
)
def test_mask_settings_removes_value_of_secret_name(text: str, expected: str) -> None:
    assert mask_settings(text) == expected
    assert mask_settings(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {"Stop": [{"type": "command", "command": "cortext hook claude Stop"}]}}',
        '{"max_tokens": "12", "model": "opus", "token": ""}',
        '[mcp_servers.cortext]\ncommand = "cortext"\nargs = ["mcp"]\n',
        "it's not json: \"",
        '{"token": null, "password": true, "port": 8080, "list": ["a", "b"]}',
        '[[servers]]\nname = """a "quoted" b"""\nat = 1979-05-27 07:32:00\n',
    ],
)
def test_mask_settings_keeps_other_text(text: str) -> None:
    assert mask_settings(text) == text
