"""What was said is found by its words, whatever the script; and whatever is typed, the command
answers."""

import io
import random
import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench import corpus
from cortext.catalog.fulltext.fulltext_index import FulltextIndex, TextEntry
from cortext.catalog.rebuildable_database import plain
from cortext.catalog.row import ConversationRow
from cortext.cli.main import main
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.text_search.search_query import parse, spaced
from tests.catalog.spaces import Space

CONVERSATIONS, EACH = 40, 50
NEW_LETTERS = re.compile("[\u19b0-\u19c9\u1cf2\u1cf3]")
"""What SQLite does not know as letters, and Python does."""
SCRIPTS = """
Η βάση δεδομένων έχει δύο πίνακες και τρεις δείκτες· άλλαξε τη ρύθμιση πριν την εκκίνηση
Мы решили очищать кэш каждый час, ёлка и её тесты проходят; файл «настройки» не менять
قررنا إفراغ الذاكرة المؤقتة كل ساعة، والاختبارات تعمل الآن بدون أخطاء في الملف الأول
החלטנו לרוקן את המטמון בכל שעה ולבדוק שוב את הקובץ הראשי לפני הפריסה הבאה
हमने तय किया कि कैश हर घंटे खाली होगा और सभी परीक्षण फिर से चलेंगे
ตัดสินใจล้างแคชทุกชั่วโมง แล้วทดสอบระบบอีกครั้ง ก่อนปล่อยรุ่นใหม่ วันศุกร์นี้
我们决定 每小时 清空缓存 然后 重新运行 所有测试 配置文件 不要修改
キャッシュは 毎時 空にする ことに 決めました。 テストは 全部 通りました
캐시는 매시간 비우기로 결정했고 모든 테스트를 다시 실행했습니다 설정 파일은 그대로
Größe prüfen, Straße und Maßnahmen: Übergröße İstanbul ığdır naïve façade Ångström œuvre
Chúng tôi quyết định xóa bộ nhớ đệm mỗi giờ và chạy lại tất cả các bài kiểm tra
def f(x): return x**2 != y_z[0] and a.b.c("d-e") or {'k': [1.5e-3, 0xFF]} # émoji 🎉 done
SELECT * FROM t WHERE id='7' AND name LIKE '%c++%'; -- it's foo-bar in src/a_b.py:12
"""


@pytest.fixture(scope="module")
def said() -> dict[str, list[str]]:
    """Conversations: words as often as in real texts, code, and a dozen scripts."""
    rng, tables = random.Random(8), corpus.vocabulary()
    lines = [line.split() for line in SCRIPTS.strip().splitlines()]
    found: dict[str, list[str]] = {}
    for number in range(1, CONVERSATIONS + 1):
        texts = list(corpus.texts(number, EACH, tables))
        for place in rng.sample(range(EACH), EACH // 3):
            words = rng.choice(lines)
            start = rng.randrange(len(words) // 2)
            texts[place] = f"{' '.join(words[start:])} {texts[place][:80]} {rng.choice(words)}"
        found[f"{number:03}-a"] = texts
    return found


@pytest.fixture(scope="module")
def finder(
    said: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Finder]:
    """All of it, read by the real index."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("recall")
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "AURORA_HOME", "HOME"):
            patch.setenv(name, str(folder / name))
        patch.setenv("CI", "true")
        space = Space(folder / "space")
        for name, texts in said.items():
            space.add(name, *texts)
        patch.chdir(space.root)
        made = Finder()
        assert made.refresh().left == 0
        yield made


def three(text: str, rng: random.Random, *, quoted: bool) -> list[str]:
    """Three words of a text that follow one another, signs between them left out; outside quotes
    also those with a minus before them, which would exclude it."""
    given = '"{}"' if quoted else "{}"
    said = text.replace('"', " ").split()
    words = [word for word in said if word == "AND" or parse(given.format(word))]
    start = rng.randrange(len(words) - 2)
    return words[start : start + 3]


@pytest.mark.parametrize("quoted", [True, False], ids=["as a phrase", "as words"])
def test_search_finds_random_message_by_three_of_its_words(
    finder: Finder, said: dict[str, list[str]], quoted: bool
) -> None:
    """For 1,000 random messages, three of their words in order find that message."""
    rng = random.Random(9)
    rows: dict[str, ConversationRow] = {row.id: row for row in finder.rows}
    missed: list[tuple[str, int, str]] = []
    for _ in range(1000):
        id, number = rng.choice([*said]), rng.randrange(EACH)
        words = three(said[id][number], rng, quoted=quoted)
        text = f'"{" ".join(words)}"' if quoted else " ".join(words)
        wanted = SearchRequest(text, most=10_000, each=10_000, only=rows[id].identity)
        groups = finder.answer(wanted).groups
        if number + 1 not in {hit.number for group in groups for hit in group.hits}:
            missed.append((id, number + 1, text))
    assert missed == []


@given(st.text(min_size=1, max_size=80))
@example("-0\x000")
@example("foo\x00bar")
def test_index_finds_any_text_by_each_of_its_words(text: str) -> None:
    """Whatever a text is made of, each of its words that can be asked for finds it."""
    words = [word for word in text.split() if '"' not in word and parse(word)]
    words = [word for word in words if not NEW_LETTERS.search(word)]
    with FulltextIndex(":memory:") as index:
        entry = TextEntry(1, "user", 1, spaced(plain(text)), 0, 1)
        index.put(("/w", "a"), "1", [entry, TextEntry(2, "user", 2, "other", 1, 1)], keep=False)
        for asked in words:
            query = parse(asked)
            assert 1 in {spot.number for spot in index.find(query.expression)}
            assert query.is_in(text)


def test_nul_inside_word_joins_its_parts_as_phrase() -> None:
    """NUL acts as a hyphen does: the word is a phrase, and a minus before it excludes all of it."""
    with FulltextIndex(":memory:") as index:
        texts = ["foo\0bar", "bar foo"]
        entries = [TextEntry(n, "user", n, spaced(text), n, 1) for n, text in enumerate(texts)]
        index.put(("/w", "a"), "1", entries, keep=False)
        assert {spot.number for spot in index.find(parse("foo\0bar").expression)} == {0}
        assert {spot.number for spot in index.find(parse("bar -foo\0bar").expression)} == {1}


ODD = st.text(st.characters(exclude_categories=()), max_size=200) | st.text(
    alphabet="\"'*^(){}:-+ANDORTE. \t\n\\c%_日é\udcff", max_size=60
)
SAID = ("the", "кэш", "缓存", "foo-bar", "c++", "it's", "a.b.c", "naïve", "src/a_b.py:12", "001-a")
TYPED = ODD | st.lists(
    st.sampled_from((*SAID, "AND", "OR", "NOT", '"', "*", "th*", "NEAR(", "-")) | ODD, max_size=8
).map(" ".join)
OPTIONS = st.sampled_from(
    [
        ["--sort", "relevance"], ["--sort", "newest"], ["--json"], ["-n", "1"], ["--all"],
        ["--role", "user"], ["--role", "title"], ["--tool", "claude"], ["--tool", "aur"],
        ["--type", "plan"], ["--status", "active"], ["--status", "paused"], ["--tag", "x"],
        ["--since", "7d"], ["--until", "2100-01-01"], ["--in", "."], ["--conversation", "001-a"],
    ]
)  # fmt: skip


def run(*arguments: str) -> tuple[int, str, str]:
    """The command, in this process: its exit code, and what it printed and said."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cortext", "search", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main()
    texts: list[str] = []
    for stream in (out, err):
        stream.flush()
        stream.buffer.seek(0)
        texts.append(stream.buffer.read().decode())
    return code, texts[0], texts[1]


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(TYPED, st.lists(OPTIONS, max_size=3))
def test_search_command_accepts_any_text_and_options(
    finder: Finder, text: str, options: list[list[str]]
) -> None:
    """With any options and with none, nothing is an error: something is found and printed, or it
    is said that nothing was."""
    assert finder.rows
    more = [word for option in options for word in option]
    code, out, err = run(*more, "--", text) if more or text.startswith("-") else run(text)
    assert code in (0, 1), err
    assert not any(line.startswith(("error:", "Traceback")) for line in err.splitlines()), err
    near = code == 1 and ("No conversation " in err or "closest results" in err)
    assert bool(out.removeprefix("[]\n")) == (code == 0 or near)
    assert err or code == 0
