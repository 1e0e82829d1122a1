"""The sentences of the JSON decoder about data that is not JSON."""

import pytest

from cortext.model import json_codec

BOTH_SIDES = b'{\n<<<<<<< HEAD\n  "a": 1\n=======\n  "a": 2\n>>>>>>> 92d5f01\n}\n'


@pytest.mark.parametrize("data", [BOTH_SIDES, b"<<<<<<< HEAD", b"=======", b">>>>>>> 92d5f01"])
def test_decode_error_names_git_conflict_markers(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not JSON: it contains git conflict markers$"):
        json_codec.decode(data)


def test_decode_error_names_character_without_conflict_markers() -> None:
    with pytest.raises(ValueError, match=r"^not JSON: expecting value at character 1$"):
        json_codec.decode(b"x")
