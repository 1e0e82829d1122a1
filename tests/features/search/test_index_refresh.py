"""The full-text index follows the files: what is new is found, what is gone is not, and nobody's
files are written."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.catalog.fulltext.fulltext_index import FulltextIndex
from cortext.features.search.index_refresh import RefreshedTexts
from cortext.features.search.search import Search
from tests.catalog.spaces import Space
from tests.command import cortext
from tests.faults.mounts import fill, mounted, read_only
from tests.homes import Homes, lay_out, said


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and nothing that goes on in the background."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")
    return tmp_path / "cache"


def refreshed() -> RefreshedTexts:
    return Search().refresh()


def numbers(text: str) -> list[int]:
    """The numbers of the messages that a search finds, as a new process would."""
    search = Search()
    assert search.refresh().left == 0
    return sorted(hit.number for hit in search.find(text, most=1000))


def lines_of(folder: Path) -> Path:
    return folder / ".session/messages.jsonl"


def test_refresh_reads_only_appended_message(current_space: Space) -> None:
    """A turn that was appended is found by the next search, which reads nothing else."""
    folder = current_space.add("001-a", "first word", "second word")
    current_space.add("002-b", "other word")
    assert refreshed().messages == 7  # with a title and a markdown each
    assert refreshed() == RefreshedTexts()
    current_space.append(folder, "third word")
    assert refreshed() == RefreshedTexts(read=1, messages=1)
    assert numbers("word") == [1, 1, 2, 3]


def test_refresh_forgets_replaced_message_of_rewritten_conversation(current_space: Space) -> None:
    """Of a conversation that was written anew only what stands there now is found."""
    folder = current_space.add("001-a", "alpha one", "alpha two", "alpha three")
    assert numbers("alpha") == [1, 2, 3]
    path = lines_of(folder)
    data = path.read_bytes().replace(b"alpha two", b"omega two")
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").rename(path)
    current_space.head(folder, context_summary="masked")
    assert (numbers("alpha"), numbers("omega")) == ([1, 3], [2])


def test_refresh_forgets_messages_of_shortened_conversation(current_space: Space) -> None:
    """What was cut off is not found any more."""
    folder = current_space.add("001-a", "alpha one", "alpha two", "alpha three")
    assert numbers("alpha") == [1, 2, 3]
    lines = lines_of(folder).read_bytes().splitlines(keepends=True)
    lines_of(folder).write_bytes(lines[0])
    assert numbers("alpha") == [1]


def test_search_drops_deleted_and_finds_restored_conversation(current_space: Space) -> None:
    """A conversation that is gone is not found; one that comes back is."""
    folder = current_space.add("001-a", "alpha one")
    assert numbers("alpha") == [1]
    folder.rename(current_space.root / "elsewhere")
    assert numbers("alpha") == []
    (current_space.root / "elsewhere").rename(folder)
    assert numbers("alpha") == [1]


def test_search_finds_conversation_of_moved_workspace(
    current_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in a workspace is found where that was moved to."""
    current_space.add("001-a", "alpha one")
    current_space.age()
    assert numbers("alpha") == [1]
    current_space.root.rename(current_space.root.with_name("moved"))
    monkeypatch.chdir(current_space.root.with_name("moved"))
    assert numbers("alpha") == [1]
    assert [hit.row.workspace for hit in Search().find("alpha")] == [os.getcwd()]


def test_search_numbers_match_show_after_damaged_lines(current_space: Space) -> None:
    """Numbers are those of `cortext show --message`, also after lines that hold no message."""
    folder = current_space.add("001-a", "alpha one", "alpha two", "alpha three")
    first, *others = lines_of(folder).read_bytes().splitlines(keepends=True)
    lines_of(folder).write_bytes(first + b"{half\n\n" + bytes(20) + b"\n" + b"".join(others))
    assert numbers("alpha") == [1, 2, 3]
    search = Search()
    search.refresh()
    for hit in search.find("alpha"):
        shown = cortext(current_space.root, "show", "001-a", "--message", str(hit.number))
        assert hit.snippet.text in shown.stdout
    current_space.append(folder, "alpha four")
    assert numbers("four") == [4]


def test_refresh_replaces_old_title_summary_and_markdown(current_space: Space) -> None:
    """A new title, summary or markdown is found, and the old one is not."""
    folder = current_space.add("001-a", "said", title="Cabbages")
    (folder / "plan.md").write_text("# About kings\n", encoding="utf-8")
    assert (numbers("cabbages"), numbers("kings")) == ([0], [-1])
    current_space.head(folder, title="Walrus", context_summary="an oyster")
    (folder / "plan.md").write_text("# About queens and others\n", encoding="utf-8")
    assert (numbers("cabbages"), numbers("kings")) == ([], [])
    assert (numbers("walrus"), numbers("oyster"), numbers("queens")) == ([0], [0], [-1])
    (folder / "plan.md").unlink()
    assert numbers("queens") == []
    assert numbers("said") == [1]


def test_refresh_finds_markdown_edited_by_hand(current_space: Space) -> None:
    """A person's edit of a markdown is found when nothing else has changed."""
    folder = current_space.add("001-a", "said")
    current_space.age()
    assert numbers("edited") == []
    (folder / "plan.md").write_text("# Edited by hand, at length\n", encoding="utf-8")
    assert numbers("edited") == [-1]


def test_refresh_retries_unreadable_conversation(
    current_space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    """A conversation that cannot be read is named, stays as it was, and is tried again."""
    folder = current_space.add("001-a", "alpha one")
    assert numbers("alpha") == [1]
    current_space.append(folder, "alpha two")
    Search()  # the catalog knows of it
    path = lines_of(folder)
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    search = Search()
    assert search.refresh().read == 0
    assert "cannot be searched" in caplog.text
    assert [spot.number for spot in FulltextIndex.at_home().find('"alpha"')] == [1]
    path.rmdir()
    path.with_suffix(".away").rename(path)
    assert numbers("alpha") == [1, 2]


@pytest.fixture
def lone_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    found = lay_out(tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    (found.home / "nowhere").mkdir()
    monkeypatch.chdir(found.home / "nowhere")
    return found


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini", "opencode"])
def test_search_finds_messages_of_each_tool(lone_homes: Homes, tool: str) -> None:
    """What was said in each of the four tools is found in its session, and nothing twice."""
    id, turns = said(tool)
    search = Search()
    assert search.refresh().left == 0
    for role, text in turns:
        words = text.split()[:4]
        if role in ("user", "assistant") and len(words) == 4:
            phrase = " ".join(words).replace('"', " ")
            keys = [hit.row.key for hit in search.find(f'"{phrase}"', most=1000)]
            assert id in keys
    assert Search().refresh() == RefreshedTexts()


def test_search_finds_sub_agent_text_in_parent_session(lone_homes: Homes) -> None:
    """What a sub-agent said is found in the session that started it."""
    id, _ = said("claude")
    beside = lone_homes.transcript("claude").parent / id / "subagents"
    beside.mkdir(parents=True)
    line = {"type": "user", "sessionId": id, "isSidechain": True, "uuid": "u1", "parentUuid": None}
    when = {"timestamp": "2026-01-05T12:00:00.000Z", "cwd": "/", "version": "2"}
    first = {**line, **when, "message": {"role": "user", "content": "count the walruses"}}
    (beside / "agent-1.jsonl").write_text(json.dumps(first) + "\n", encoding="utf-8")
    search = Search()
    search.refresh()
    (hit,) = search.find("walruses")
    assert (hit.row.key, hit.role, hit.number) == (id, "agents", -2)
    assert hit.snippet.text == "count the walruses"


def test_search_writes_nothing_to_tool_folders(lone_homes: Homes) -> None:
    """Not a byte of the tools' folders changes by a search."""
    before = _bytes(lone_homes)
    search = Search()
    search.refresh()
    search.find("the")
    assert _bytes(lone_homes) == before


def _bytes(homes: Homes) -> dict[str, str]:
    # SQLite makes side files for whoever reads a database in that mode.
    found = (path for own in homes.own.values() for path in own.rglob("*") if path.is_file())
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if not path.name.endswith(("-shm", "-wal"))
    }


def test_refresh_without_time_reads_newest_conversations_first(current_space: Space) -> None:
    """Without time for all of it the newest come first, and the others the next time."""
    for number in range(20):
        current_space.add(f"{number + 1:03}-a", f"word{number}")
    assert refreshed().left == 0
    for number, folder in enumerate(sorted((current_space.root / "conversations").glob("*/*"))):
        current_space.append(folder, f"later{number}")
    search = Search()
    found = search.refresh(patience=0)
    assert found.left == 20 - found.read
    assert numbers("later3") == [2]


def test_search_uses_existing_index_while_another_process_refreshes(current_space: Space) -> None:
    """While another process adds to the index a search goes on with what is there."""
    folder = current_space.add("001-a", "alpha one")
    assert numbers("alpha") == [1]
    current_space.append(folder, "alpha two")
    program = (
        "import sys\nfrom cortext.durability.file_lock import FileLock\n"
        "with FileLock(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, FulltextIndex.at_home().lock],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        search = Search()
        found = search.refresh(patience=0.05)
        assert (found.left, found.why) == (1, "another process is reading them")
        assert [hit.number for hit in search.find("alpha")] == [1]
        holder.communicate()
    assert numbers("alpha") == [1, 2]


def many(space: Space, conversations: int, each: int, first: int = 1) -> None:
    for number in range(conversations):
        texts = [f"word{number}x{n} and some more to say about it " * 8 for n in range(each)]
        space.add(f"{number + first:03}-a", *texts)


def test_refresh_after_kill_indexes_each_message_once(current_space: Space) -> None:
    """After kill -9 in the middle of a build the next search has everything, once."""
    many(current_space, 60, 300)
    path = FulltextIndex.at_home().lock.removesuffix(".lock")
    command = [
        sys.executable,
        "-c",
        "from cortext.features.search.search import index_everything; index_everything()",
    ]
    for _ in range(3):
        with subprocess.Popen(command, cwd=current_space.root) as child:
            end = time.monotonic() + 60
            while not _has_some(path) and child.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            child.send_signal(signal.SIGKILL)
    search = Search()
    search.refresh(patience=None)
    for number in range(0, 60, 7):
        hits = search.find(f"word{number}x{number}")
        assert [hit.number for hit in hits] == [number + 1]
    assert FulltextIndex.at_home().is_settled


def _has_some(path: str) -> bool:
    """Whether a build has written its first batch: it is larger than an empty index."""
    try:
        return sum(os.path.getsize(path + suffix) for suffix in ("", "-wal")) > 200_000
    except FileNotFoundError:
        return False


def test_search_rebuilds_corrupt_index(current_space: Space) -> None:
    """A search over a damaged index reads everything anew, says so, and finds it."""
    current_space.add("001-a", "alpha one")
    assert numbers("alpha") == [1]
    Path(FulltextIndex.at_home().lock.removesuffix(".lock")).write_bytes(
        b"no database at all" * 1000
    )
    done = cortext(current_space.root, "search", "alpha")
    assert (done.returncode, "alpha one" in done.stdout) == (0, True)


def test_search_finds_indexed_messages_with_read_only_cache(
    current_space: Space, cache: Path
) -> None:
    """With a cache that cannot be written to, what was read before is found, and that is said."""
    folder = current_space.add("001-a", "alpha one")
    assert numbers("alpha") == [1]
    current_space.append(folder, "alpha two")
    with read_only(cache):
        done = cortext(current_space.root, "search", "alpha")
    assert ("alpha one" in done.stdout, done.returncode) == (True, 0), done.stderr
    assert "cannot be written" in done.stderr


def test_search_finds_messages_without_cache_folder(current_space: Space, cache: Path) -> None:
    """With no place for a cache everything is found still."""
    current_space.add("001-a", "alpha one")
    cache.write_text("in the way", encoding="utf-8")
    done = cortext(current_space.root, "search", "alpha")
    assert (done.returncode, "alpha one" in done.stdout) == (0, True)
    assert "takes longer" in done.stderr


def test_search_on_full_disk_finds_indexed_messages_and_says_why(
    current_space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk a search has what is there, says why not more, and later everything."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "none") as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
        current_space.add("001-a", "alpha one")
        assert numbers("alpha") == [1]
        filler = fill(disk, 8192)
        many(current_space, 3, 3000, first=2)
        search = Search()
        found = search.refresh()
        assert found.left
        assert "full" in found.why
        assert [hit.number for hit in search.find("alpha")] == [1]
        filler.unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "roomy"))
    assert numbers("alpha") == [1]
    assert numbers("word1x7") == [8]


@pytest.fixture
def searchers(current_space: Space) -> Iterator[list["subprocess.Popen[str]"]]:
    """Eight processes that search until they are told to end, each with a look at the files."""
    program = (
        "import sys, threading\nfrom cortext.features.search.search import Search\n"
        "end = threading.Event()\n"
        "threading.Thread(target=lambda: (sys.stdin.read(), end.set()), daemon=True).start()\n"
        "count = 0\n"
        "while not end.is_set():\n"
        "    search = Search()\n    search.refresh(patience=0.2)\n    search.find('alpha')\n"
        "    count += 1\n    print(count, flush=True)\n"
    )
    found = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=current_space.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    yield found
    for child in found:
        child.kill()
        child.wait()


def test_concurrent_searches_and_refreshes_index_each_message_once(
    current_space: Space, searchers: list["subprocess.Popen[str]"]
) -> None:
    """While eight search, one indexes and one appends: no error, and in the end all turns, once."""
    folder = current_space.add("001-a", "alpha 0")
    many_folder = [current_space.add(f"{n:03}-b", *[f"beta{n} " * 40] * 200) for n in range(2, 22)]
    for child in searchers:
        assert child.stdout
        assert child.stdout.readline()
    for number in range(1, 40):
        current_space.append(folder, f"alpha {number}")
        current_space.append(many_folder[number % 20], f"gamma {number}")
        Search().refresh(patience=None)
    for child in searchers:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, "")
        assert out.split()
    assert numbers("alpha") == list(range(1, 41))
    assert len(numbers("gamma")) == 39
    assert len(numbers("beta7")) == 200


def test_refresh_does_not_read_conversation_with_odd_title_again(current_space: Space) -> None:
    """A title with every odd sign is remembered, and is not read again."""
    current_space.add("001-a", "said", title='odd | "\\ 日本\u2028 title')
    assert refreshed().messages == 3
    assert refreshed() == RefreshedTexts()
    assert numbers("odd") == [0]
