"""Text in the middle of long tool output is found, and redacted or deleted text is not."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.transcripts import Words, write_one
from cortext.features.listing.session_of_row import read_all
from cortext.features.search import tool_output_scan
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.features.search.tool_output_scan import ByteFinder
from cortext.features.search.transcript_scan_result import ScanLimits
from cortext.formats.text_search.literal_query import LiteralText
from tests.command import begin, cortext, ok
from tests.features.secrets.tool_sessions import TOKEN

ERROR = "QuokkaError: cannot open src/burrow/append_marsupials.py:212 (wombat_id=77)"
COLOURED = "\x1b[31mFAILED\x1b[0m tests/test_numbat.py::\x1b[1mtest_digsFast\x1b[0m"
SECRET_LINE = f"export BANDICOOT_LOGIN={TOKEN} # for the bandicoot"
PICTURE = "iVBORw0KGgo" + "QUFB" * 400 + "bilbydata" + "QkJC" * 400
TOOLS = ("claude", "codex", "gemini", "opencode")
every_tool = pytest.mark.parametrize("tool", TOOLS)


class Output(Words):
    """Long tool output with known lines in its middle."""

    def source(self, characters: int) -> str:
        filler = super().source(3000)
        return "\n".join([filler, ERROR, COLOURED, SECRET_LINE, PICTURE, filler])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home/.local/share"))
    (tmp_path / "space").mkdir()
    monkeypatch.chdir(tmp_path / "space")
    return tmp_path


@pytest.fixture
def make_session(folder: Path) -> Callable[[str], Path]:
    return lambda tool: write_one(tool, folder / "home", Output(7), 20_000)


def answer(text: str, **more: object) -> SearchPage:
    finder = Finder()
    assert finder.refresh().left == 0
    return finder.answer(SearchRequest(text, **more))  # type: ignore[arg-type]


def snippets(page: SearchPage) -> list[str]:
    return [hit.snippet.text for group in page.groups for hit in group.hits]


@every_tool
def test_line_in_the_middle_of_tool_output_is_found(
    tool: str, make_session: Callable[[str], Path]
) -> None:
    make_session(tool)
    page = answer(ERROR)
    (group,) = page.groups
    assert (group.row.tool, list(page.missing)) == (tool, [])
    hit = group.hits[0]
    assert hit.role == "tool"
    assert hit.tool_name
    assert ERROR in hit.snippet.text
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.spans] == [ERROR]
    assert ERROR in read_all(group.row).session.messages[hit.number - 1].content


@pytest.mark.parametrize(
    "query",
    [
        "append_marsupials.py",
        "src/burrow/append_marsupials.py:212",
        "quokkaerror",
        "QuokkaError: cannot  open",
        '"cannot open src/burrow"',
        "FAILED tests/test_numbat.py::test_digsFast",
        "test_digsFast",
        "the wombat_id=77",
    ],
)
def test_names_paths_and_parts_of_lines_are_found(
    query: str, make_session: Callable[[str], Path]
) -> None:
    make_session("claude")
    page = answer(query)
    assert page.groups, query
    assert all("\x1b" not in text and "\ufffd" not in text for text in snippets(page))


@every_tool
def test_line_is_found_in_archive_after_the_tool_deleted_its_session(
    tool: str, make_session: Callable[[str], Path], folder: Path
) -> None:
    path = make_session(tool)
    ok(folder / "space", "sync")
    shutil.rmtree(path.parent)
    (group,) = answer(ERROR).groups
    assert ERROR in group.hits[0].snippet.text


@every_tool
def test_redacted_text_is_not_found_in_the_tools_own_file(
    tool: str, make_session: Callable[[str], Path], folder: Path
) -> None:
    path = make_session(tool)
    ok(folder / "space", "sync")
    (group,) = answer(SECRET_LINE).groups
    done = cortext(folder / "space", "redact", group.row.key, "--archive", "--yes")
    assert done.returncode == 0, done.stderr
    assert TOKEN.encode() in path.read_bytes()
    assert not any(TOKEN in text for query in (SECRET_LINE, TOKEN) for text in all_texts(query))
    (text,) = snippets(answer("# for the bandicoot", each=1))
    assert "BANDICOOT_LOGIN=[redacted" in text


def all_texts(query: str) -> list[str]:
    return snippets(answer(query, each=50, most=50))


def test_deleted_conversation_is_not_found(folder: Path) -> None:
    root = folder / "space"
    ok(root, "init")
    id = begin(root, "plan", "Burrows", "Hello.")
    (lines,) = root.rglob("messages.jsonl")
    output = {"role": "tool", "content": "filler\n" * 300 + ERROR + "\nfiller" * 300, "name": "sh"}
    with lines.open("a") as file:
        file.write(json.dumps({**output, "timestamp": "2026-01-05T10:00:00Z", "id": "m9"}) + "\n")
    assert [group.row.id for group in answer(ERROR).groups] == [id]
    ok(root, "delete", id, "--yes")
    assert answer(ERROR).groups == []


def test_encoded_data_is_not_searched(make_session: Callable[[str], Path]) -> None:
    make_session("codex")
    assert answer("bilbydata").groups == []


def test_filters_apply_to_tool_output(make_session: Callable[[str], Path]) -> None:
    make_session("claude")
    make_session("codex")
    assert {group.row.tool for group in answer(ERROR).groups} == {"claude", "codex"}
    assert answer(ERROR, narrow=TextFilter(role="tool")).groups
    assert answer(ERROR, narrow=TextFilter(role="user")).groups == []
    assert answer(ERROR, narrow=TextFilter(since=2**60)).groups == []


def test_conversation_with_the_whole_line_comes_before_others(
    make_session: Callable[[str], Path], folder: Path
) -> None:
    make_session("claude")
    ok(folder / "space", "init")
    begin(folder / "space", "plan", "Burrows", "Open the burrow: py, marsupials, append 212, src.")
    query = "open src/burrow/append_marsupials.py:212"
    assert [group.row.tool for group in answer(query).groups] == ["claude", ""]


@pytest.mark.parametrize(
    "query", ["badger sleeping", "badger", '"badger sleeps"', "badger OR otter", "badg*", "otter*"]
)
def test_query_that_the_index_answers_never_scans(
    query: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(folder / "space", "init")
    begin(folder / "space", "plan", "Burrows", "The badger sleeps.")
    monkeypatch.setattr(tool_output_scan, "scan", None)
    answer(query)


def test_search_prints_the_tool_and_json_has_the_passage(
    make_session: Callable[[str], Path], folder: Path
) -> None:
    make_session("claude")
    printed = ok(folder / "space", "search", ERROR)
    assert "Read output, 2026-01-02" in printed
    (hit, *_) = json.loads(ok(folder / "space", "search", ERROR, "--json"))
    assert ERROR in hit["text"]
    shown = ok(folder / "space", "show", hit["id"], "--at", str(hit["message"]))
    assert "wombat_id=77" in shown


def test_large_file_is_named_and_not_read(
    make_session: Callable[[str], Path], folder: Path
) -> None:
    path = make_session("claude")
    os.truncate(path, 5 << 30)
    finder = Finder()
    page = finder.answer(SearchRequest(ERROR))
    assert (page.groups, list(page.too_large)) == ([], [str(path)])


def test_scan_stops_at_its_time_limit(make_session: Callable[[str], Path]) -> None:
    make_session("claude")
    assert answer(ERROR, scan=ScanLimits(seconds=1e-9)).left == 1
    assert answer(ERROR, scan=ScanLimits(seconds=0)).left == 0


def test_line_of_many_megabytes_is_searched(make_session: Callable[[str], Path]) -> None:
    path = make_session("claude")
    *_, last = path.read_bytes().splitlines()
    record = json.loads(last)
    text = "x y " * 5_000_000 + "the pademelon hops_once" + " z" * 1_000_000
    new = {**record, "uuid": "u-new", "parentUuid": record["uuid"], "type": "user"}
    new["message"] = {"role": "user", "content": [result(text)]}
    with path.open("ab") as file:
        file.write(json.dumps(new).encode() + b"\n")
    (group,) = answer("pademelon hops_once").groups
    assert "the pademelon hops_once" in group.hits[0].snippet.text


def result(text: str) -> dict[str, str]:
    return {"type": "tool_result", "tool_use_id": "toolu_x", "content": text}


@pytest.mark.parametrize("size", [1, 3, 29_000, 29_003, 100_000])
def test_needle_is_found_across_blocks_and_windows(size: int) -> None:
    data = b"." * 28_997 + b"Needle" + b"." * 40_000
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    assert ByteFinder([b"Needle"]).is_in(blocks)
    assert ByteFinder([b"needle", b"..n"], any_case=True).is_in(blocks)
    assert not ByteFinder([b"needle"]).is_in(blocks)
    assert not ByteFinder([b"needle", b"absent"], any_case=True).is_in(blocks)


def test_needle_has_only_characters_that_json_keeps() -> None:
    assert LiteralText('"message": "a \\"b\\" c",').needle == b"message"
    assert LiteralText("if a<b && open(é)").needle == b"open("
    assert LiteralText("naïve café").needle == b"na" or LiteralText("naïve café").needle
    assert not LiteralText('"\\"').is_searchable


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(["QuokkaError:", "(", ")", '"', "-", "*", "\\", "[a", "AND", "|",
                                  "wombat_id=77", "\x00", "é", "日本", "cannot", "\t", "%"]),
                 max_size=8).map(" ".join),
    )
)  # fmt: skip
def test_no_query_raises_or_returns_terminal_codes(
    make_finder: Callable[[], Finder], query: str
) -> None:
    page = make_finder().answer(SearchRequest(query))
    assert all("\x1b" not in text for text in snippets(page))


@pytest.fixture
def make_finder(make_session: Callable[[str], Path]) -> Callable[[], Finder]:
    for tool in TOOLS:
        make_session(tool)
    finder = Finder()
    finder.refresh()
    return lambda: finder
