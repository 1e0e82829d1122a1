"""Rank conversations by how well their texts match the words of a query.

The score of a conversation is the sum of two scores: one for the whole conversation, which depends
on how many of its texts contain each word, and one for its best text. A word counts more if few
conversations contain it. No word is required, so a query can be a question: the conversations with
its rarest words come first.

The scores follow BM25. They depend only on the positions and lengths of the matching texts, so no
text is read. `docs/decisions/017-ranking.md` has the measurements behind the constants.
"""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from cortext.catalog.fulltext.fulltext_rows import (
    AS_IS,
    LONGEST_RUN,
    Identity,
    TextMatch,
    unpacked,
)
from cortext.formats.text_search.search_query import Clause, Term

MOST_TEXTS = 4_000
"""The maximum number of texts that are considered for each word if all conversations are searched.

The last indexed texts are considered. The best conversations are then searched for the word
completely.
"""
_MOST_RANGES = 8
"""The maximum number of parts of a conversation that are then searched, the last parts.

A conversation has several parts if other conversations were indexed between its messages.
"""
_MOST_RANKED = 100
"""The maximum number of conversations that are ranked if all conversations are searched."""
_MOST_COMPARED = 40
"""The number of conversations whose best text is computed: those with the greatest scores."""
_MOST_TEXTS_COMPARED = 20
"""The number of texts that are compared to find the best text of such a conversation.

These are the texts with the greatest weights, and the last ones of those with the same weight.
"""
_LAST_TEXTS = 4
"""The number of texts that are returned for each conversation whose best text is not computed."""
_LOOKUP = 400
"""Looking up the run of one text takes as long as reading the runs of this number of texts."""
_SATURATION, _LENGTH_EFFECT = 1.6, 0.6
"""The parameters k1 and b of BM25 for a whole conversation."""
_TEXT_SATURATION, _TEXT_LENGTH_EFFECT = 0.6, 0.5
"""The parameters k1 and b of BM25 for a single text."""
_PREFIX_WEIGHT = 0.1
"""The weight of tool output, and of a text that has only a longer word ("authorize" for "auth")."""
_STEM_WEIGHT = 0.7
"""The weight of a text that only has a word of the same stem, such as "generated" for "general".

It counts only in the score of a single text.
"""
_SHORTEST_PREFIX = 3
_ROLE_WEIGHTS = {"title": 2.0, "user": 1.5, "agents": 0.5, "tool": 0.7}
"""The weight of a word by the role of its text; 1.0 for other roles."""


class RankedConversation(msgspec.Struct):
    """A conversation that matches words of a query, with its score and its best texts.

    `words` has the index of each word of the query that the conversation contains, and `coverage`
    is the sum of the rarities of these words. `texts` has matching texts, the best first.
    """

    identity: Identity
    score: float
    words: frozenset[int]
    coverage: float
    texts: list[TextMatch]


class RankingScope(msgspec.Struct, frozen=True):
    """The conversations and texts that a ranking searches.

    - `conversation`: a function that returns whether to search a conversation
    - `text`: a function that returns whether to search a text; None means all texts
    - `required`: a condition that a conversation must fulfil; None means no condition. Texts that
      match a part of the condition come first among the texts of a conversation
    - `only_required`: whether to search only the texts that match a part of the condition
    - `is_narrow`: whether only a part of the index is searched. If so, all texts with a word are
      considered, and otherwise at most `MOST_TEXTS`
    """

    conversation: Callable[[Identity], bool]
    text: Callable[[TextMatch], bool] | None = None
    required: Clause | None = None
    only_required: bool = False
    is_narrow: bool = False


class _Cut(msgspec.Struct, frozen=True):
    """A word that is in too many texts to consider all of them.

    The FTS5 query `expression` finds the texts in `table`. Only the texts from the number `first`
    are considered. `share` is the fraction of all texts in the index that have the number `first`
    or a greater number.
    """

    table: str
    expression: str
    first: int
    share: float


class _Run(msgspec.Struct, frozen=True, gc=False):
    """A run of consecutive texts of one conversation.

    `first` is the number of the first text, and `source` is the id of the conversation in the table
    `sources`.
    """

    first: int
    count: int
    source: int


def rank(
    db: sqlite3.Connection, words: Sequence[str], chosen: RankingScope
) -> list[RankedConversation]:
    """Return the conversations that contain any of the words, the best match first.

    A word with a `*` at its end matches every word that starts with it. `chosen` says which
    conversations and texts are searched.
    """
    return _Ranking(db, chosen).run(words)


def contains_word(db: sqlite3.Connection, word: str, chosen: RankingScope) -> bool:
    """Return whether one of the searched conversations contains exactly this word."""
    return _Ranking(db, chosen).contains(word)


class _Ranking:
    """The computation of one ranking. `chosen` says which conversations and texts are searched."""

    def __init__(self, db: sqlite3.Connection, chosen: RankingScope) -> None:
        self._db = db
        self._chosen = chosen
        self._runs: dict[int, _Run] = {}
        self._identities: dict[int, Identity | None] = {}
        self._sizes: dict[int, int] = {}
        self._required: set[int] = set()
        self._terms: dict[str, list[int]] = {}
        """The texts with each term of the required condition."""
        self._cut: dict[str, _Cut] = {}
        """The words that are in more texts than are considered."""

    def contains(self, word: str) -> bool:
        ids = self._ids("words", f'"{word}"', most=-1)
        self._load_runs({*ids})
        self._load_conversations({run.source for run in self._runs.values()})
        return any(identity is not None for identity in self._identities.values())

    def run(self, words: Sequence[str]) -> list[RankedConversation]:
        if self._chosen.required:
            self._required = self._fulfilling(self._chosen.required)
        by_word = [self._by_conversation(self._searched_texts(word)) for word in words]
        self._load_conversations({source for each in by_word for source in each})
        count = self._db.execute("SELECT count(*) FROM sources").fetchone()[0]
        rarities = [
            _rarity(self._having_count(word, found, count), count)
            for word, found in zip(words, by_word, strict=True)
        ]
        scores = self._scores(by_word, rarities)
        best = sorted(scores, key=lambda source: scores[source], reverse=True)
        if not self._chosen.is_narrow:
            best = best[:_MOST_RANKED]
        if self._cut and len(self._cut) < len(words):
            self._search_completely(best[:_MOST_COMPARED], words, by_word)
            scores |= self._scores(by_word, rarities, {*best[:_MOST_COMPARED]})
        having = [_with_whole_word(found) for found in by_word]
        ranked = self._add_best_texts(best[:_MOST_COMPARED], scores, by_word, rarities)
        ranked += self._with_last_texts(best[_MOST_COMPARED:], scores, by_word)
        sources = {identity: source for source, identity in self._identities.items() if identity}
        for each in ranked:
            source = sources[each.identity]
            each.words = frozenset(n for n, found in enumerate(having) if source in found)
            each.coverage = sum(rarities[n] for n in each.words)
        return ranked

    def _searched_texts(self, word: str) -> dict[int, float]:
        """Return the texts that contain a word and may be searched, with their weights."""
        found = self._matching_texts(word)
        self._load_runs(found)
        return self._narrow(found)

    def _narrow(self, found: dict[int, float]) -> dict[int, float]:
        """Return the texts that fulfil the required condition and the filters of the search."""
        if self._chosen.required:
            found = self._keep_required(found)
        return self._filter_texts(found) if self._chosen.text else found

    def _having_count(self, word: str, found: dict[int, dict[int, float]], count: int) -> float:
        """Return how many conversations have a word. For a common word, this is an estimate."""
        share = self._cut[word].share if word in self._cut else 1.0
        return min(len(_with_whole_word(found)) / share, count)

    def _scores(
        self,
        by_word: Sequence[dict[int, dict[int, float]]],
        rarities: Sequence[float],
        only: Collection[int] | None = None,
    ) -> dict[int, float]:
        """Return the score of each conversation as a whole, by its id in the table `sources`.

        If `only` is given, it has the ids of the conversations to score.
        """
        mean = self._db.execute("SELECT avg(size) FROM sources").fetchone()[0] or 1.0
        scores: dict[int, float] = {}
        for found, rarity in zip(by_word, rarities, strict=True):
            for source, texts in found.items():
                if self._identities.get(source) is None or (only and source not in only):
                    continue
                number = sum([1.0 if w > _PREFIX_WEIGHT else w for w in texts.values()])
                length = 1 - _LENGTH_EFFECT + _LENGTH_EFFECT * self._sizes[source] / mean
                score = rarity * number * (1 + _SATURATION) / (number + _SATURATION * length)
                scores[source] = scores.get(source, 0.0) + score
        return scores

    def _search_completely(
        self,
        sources: Sequence[int],
        words: Sequence[str],
        by_word: Sequence[dict[int, dict[int, float]]],
    ) -> None:
        """Find the remaining texts of some conversations that contain very common words.

        So far, only the last indexed texts with such a word were considered. So a conversation may
        seem to lack the word. `sources` has the ids of the conversations, and `words` has the words
        of the query. The texts that are found are added to `by_word`.
        """
        for word, found in zip(words, by_word, strict=True):
            if word not in self._cut:
                continue
            cut = self._cut[word]
            query = f"SELECT rowid FROM {cut.table} WHERE {cut.table} MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?"  # noqa: S608, E501  one of our two tables
            for source in sources:
                texts = found.setdefault(source, {})
                for first, end in self._ranges(source, before=cut.first):
                    given = (cut.expression, first, end - 1, _MOST_TEXTS_COMPARED)
                    ids = {id: _STEM_WEIGHT for (id,) in self._db.execute(query, given)}
                    self._load_runs(ids)
                    texts |= self._narrow(ids)
                if not texts:
                    del found[source]

    def _ranges(self, source: int, before: int) -> list[tuple[int, int]]:
        """Return the ranges of the texts of a conversation, at most `_MOST_RANGES`.

        Each range has the number of its first text, and the number after its last text. Texts from
        the number `before` are left out.
        """
        query = "SELECT first, count FROM runs WHERE source = ? AND first < ? ORDER BY first"
        ranges: list[tuple[int, int]] = []
        for first, count in self._db.execute(query, (source, before)):
            end = min(first + count, before)
            if ranges and ranges[-1][1] == first:
                ranges[-1] = ranges[-1][0], end
            else:
                ranges.append((first, end))
        return ranges[-_MOST_RANGES:]

    def _keep_required(self, weights: dict[int, float]) -> dict[int, float]:
        """Return the texts of the conversations that fulfil the required condition.

        `weights` has the weight of each text, by its number. With `only_required`, only texts that
        match a part of the condition are returned.
        """
        if self._chosen.only_required:
            return {id: weight for id, weight in weights.items() if id in self._required}
        sources = self._sources(self._required)
        runs = self._runs
        return {
            id: weight
            for id, weight in weights.items()
            if id in runs and runs[id].source in sources
        }

    def _fulfilling(self, part: Term | Clause) -> set[int]:
        """Return the numbers of the texts that match `part`, a part of the required condition.

        If `part` requires several words, the words may be in different texts of a conversation. If
        a conversation lacks one of these words, none of its texts is returned. Texts with an
        excluded word are ignored.
        """
        if isinstance(part, Term):
            found = {*self._ids("words", str(part), most=-1)}
            self._terms[str(part)] = sorted(found, reverse=True)
            if len(part.tokens) == 1 and not part.is_quoted and not part.is_prefix:
                found.update(self._ids("stems", str(part), most=-1))
            self._load_runs(found)
            return self._filter_ids(found)
        unwanted = {id for each in part.unwanted for id in self._ids("words", str(each), most=-1)}
        found = [self._fulfilling(each) - unwanted for each in part.wanted]
        texts = set[int]().union(*found)
        if part.either:
            return texts
        first, *others = map(self._sources, found)
        sources = first.intersection(*others)
        return {id for id in texts if self._runs[id].source in sources}

    def _filter_ids(self, ids: set[int]) -> set[int]:
        """Return the texts that are not deleted and that the caller wants to search."""
        present = {id for id in ids if id in self._runs}
        if self._chosen.text is None:
            return present
        return {*self._filter_texts(dict.fromkeys(present, 1.0))}

    def _sources(self, ids: Iterable[int]) -> set[int]:
        return {self._runs[id].source for id in ids if id in self._runs}

    def _ids(self, table: str, expression: str, most: int | None = None) -> list[int]:
        """Return the numbers of the texts that match an FTS5 expression, the last one first.

        `table` is `words` or `stems`. `most` is the maximum number of results; -1 means no maximum.
        If `most` is None, the maximum is `MOST_TEXTS`. But if only a part of the index is searched,
        None also means no maximum.
        """
        if most is None:
            most = -1 if self._chosen.is_narrow else MOST_TEXTS
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608  one of our two tables
        return [id for (id,) in self._db.execute(query, (expression, most))]

    def _last_ids(self, word: str, table: str, expression: str) -> list[int]:
        """Return the numbers of the last indexed texts that contain a word.

        If there are too many texts to return all of them, the word is added to `self._cut`.
        """
        ids = self._ids(table, expression)
        if len(ids) == MOST_TEXTS and not self._chosen.is_narrow:
            last = self._db.execute("SELECT max(first + count) FROM runs").fetchone()[0]
            share = (last - ids[-1]) / last
            self._cut[word] = _Cut(table, expression, ids[-1], share)
        return ids

    def _matching_texts(self, word: str) -> dict[int, float]:
        """Return the numbers of the texts that contain a word, each with the weight of the match.

        The word itself has the weight 1. Another form of the word, or a longer word that starts
        with it, weighs less. If the word ends with `*`, all matches have the weight 1. A word in
        tool output also weighs less, unless it occurs only there: a conversation is about what
        people and agents say. An identifier such as `shadowBranch` is also found as a whole. A word
        of a script without spaces, such as Chinese, is a phrase of its characters.
        """
        quoted = f'"{word.removesuffix("*")}"'
        if word.endswith("*"):
            return dict.fromkeys(self._last_ids(word, "words", f"{quoted}*"), 1.0)
        if " " in word:
            if quoted in self._terms:
                return dict.fromkeys(self._terms[quoted], 1.0)
            return dict.fromkeys(self._last_ids(word, "words", quoted), 1.0)
        exact = {*self._last_ids(word, "words", quoted)}
        found = {
            id: 1.0 if id in exact else _STEM_WEIGHT for id in self._last_ids(word, "stems", quoted)
        }
        if not found:
            found = dict.fromkeys(exact, 1.0)
        # Search longer words in `words`, because a stem may be much shorter than its word.
        if len(word) >= _SHORTEST_PREFIX and word.isalpha() and len(found) < MOST_TEXTS:
            for id in self._ids("words", f"{quoted}*"):
                found.setdefault(id, _PREFIX_WEIGHT)
        return found

    def _load_runs(self, ids: Collection[int]) -> None:
        """Find the run of each text, and store it in `self._runs`. A deleted text has no run."""
        if not ids:
            return
        ordered = sorted(ids)
        columns, first, last = "SELECT first, count, source FROM runs", ordered[0], ordered[-1]
        if len(ids) * _LOOKUP < last - first:
            query = f"{columns} WHERE first <= ? ORDER BY first DESC LIMIT 1"
            rows = sorted({row for id in ids for row in self._db.execute(query, (id,))})
        else:
            query = f"{columns} WHERE first BETWEEN ? AND ? ORDER BY first"
            rows = self._db.execute(query, (first - LONGEST_RUN, last)).fetchall()
        firsts = [row[0] for row in rows]
        start = 0
        while start < len(ordered):
            at = bisect_right(firsts, ordered[start]) - 1
            end = start
            if at >= 0:
                run = _Run(*rows[at])
                end = bisect_left(ordered, run.first + run.count, start)
                self._runs.update(dict.fromkeys(ordered[start:end], run))
            start = max(end, start + 1)

    def _by_conversation(self, weights: dict[int, float]) -> dict[int, dict[int, float]]:
        """Return the weights of the texts of each conversation, by its id in the table `sources`.

        `weights` has the weight of each text, by its number.
        """
        found: defaultdict[int, dict[int, float]] = defaultdict(dict)
        runs = self._runs
        for id, weight in weights.items():
            if id in runs:
                found[runs[id].source][id] = weight
        return found

    def _load_conversations(self, sources: Iterable[int]) -> None:
        query = (
            "SELECT id, root, path, size FROM sources WHERE id IN (SELECT value FROM json_each(?))"
        )
        for id, root, path, size in self._db.execute(query, (str([*sources]),)):
            identity = root.decode("utf-8", AS_IS), path.decode("utf-8", AS_IS)
            self._identities[id] = identity if self._chosen.conversation(identity) else None
            self._sizes[id] = size

    def _filter_texts(self, weights: dict[int, float]) -> dict[int, float]:
        """Return the texts that the caller wants to search, with their weights."""
        takes = self._chosen.text
        self._load_conversations({self._runs[id].source for id in weights if id in self._runs})
        located = self._locate([id for id in weights if id in self._runs])
        return {id: weights[id] for id, (match, _) in located.items() if takes and takes(match)}

    def _with_last_texts(
        self,
        sources: Sequence[int],
        scores: dict[int, float],
        by_word: Sequence[dict[int, dict[int, float]]],
    ) -> list[RankedConversation]:
        """Return the conversations `sources` in this order, each with its last matching texts.

        `scores` has the score of each conversation. For each word of the query, `by_word` has the
        weights of the matching texts of each conversation.
        """
        texts = {
            source: sorted({id for found in by_word for id in found.get(source, ())})[-_LAST_TEXTS:]
            for source in sources
        }
        located = self._locate([id for ids in texts.values() for id in ids])
        return [
            RankedConversation(identity, scores[source], frozenset(), 0.0, matches[::-1])
            for source in sources
            if (identity := self._identities[source])
            and (matches := [located[id][0] for id in texts[source] if id in located])
        ]

    def _add_best_texts(
        self,
        compared: Sequence[int],
        scores: dict[int, float],
        by_word: Sequence[dict[int, dict[int, float]]],
        rarities: Sequence[float],
    ) -> list[RankedConversation]:
        """Return the conversations with their final scores, the best conversation first.

        The final score is the score in `scores`, plus the score of the conversation's best text.
        `compared` has the ids of the conversations. For each word of the query, `by_word` has the
        weights of the matching texts of each conversation, and `rarities` has the rarity of the
        word.
        """
        # A search in one conversation lists all its texts.
        most = _MOST_TEXTS_COMPARED if len(compared) > 1 else None
        texts = {source: self._texts_to_compare(source, by_word, most) for source in compared}
        located = self._locate([id for source in compared for id in texts[source]])
        mean = sum(length for _, length in located.values()) / max(len(located), 1) or 1.0
        ranked: list[RankedConversation] = []
        for source in compared:
            values = {
                id: self._text_score(id, source, by_word, rarities, *located[id], mean)
                for id in texts[source]
                if id in located
            }
            ordered = sorted(values, key=lambda id: (id not in self._required, -values[id], -id))
            if not ordered:
                continue
            ranked.append(
                RankedConversation(
                    self._identities[source] or ("", ""),
                    scores[source] + max(values.values()),
                    frozenset(),
                    0.0,
                    [located[id][0] for id in ordered],
                )
            )
        ranked.sort(key=lambda each: each.score, reverse=True)
        return ranked

    def _texts_to_compare(
        self, source: int, by_word: Sequence[dict[int, dict[int, float]]], most: int | None
    ) -> list[int]:
        """Return the matching texts with the greatest weights in a conversation, at most `most`.

        The best text of the conversation is one of them. If `most` is None, return all matching
        texts.
        """
        weights: defaultdict[int, float] = defaultdict(float)
        for found in by_word:
            for id, weight in found.get(source, {}).items():
                weights[id] += weight
        if most is None or len(weights) <= most:
            return [*weights]
        best = sorted(weights, key=lambda id: (id in self._required, weights[id], id), reverse=True)
        return best[:most]

    def _text_score(
        self,
        id: int,
        source: int,
        by_word: Sequence[dict[int, dict[int, float]]],
        rarities: Sequence[float],
        match: TextMatch,
        length: int,
        mean: float,
    ) -> float:
        damping = _TEXT_SATURATION * (1 - _TEXT_LENGTH_EFFECT + _TEXT_LENGTH_EFFECT * length / mean)
        role_weight = _ROLE_WEIGHTS.get(match.role, 1.0)
        score = 0.0
        for found, rarity in zip(by_word, rarities, strict=True):
            weight = found.get(source, {}).get(id, 0.0) * role_weight
            score += rarity * weight * (1 + _TEXT_SATURATION) / (weight + damping) if weight else 0
        return score

    def _locate(self, ids: Sequence[int]) -> dict[int, tuple[TextMatch, int]]:
        """Return the location and the length of each text in `ids`. The keys are numbers of texts.

        Deleted texts, and texts of conversations that are not searched, are left out.
        """
        wanted = {self._runs[id].first for id in ids}
        query = (
            "SELECT first, number, at, spots FROM runs "
            "WHERE first IN (SELECT value FROM json_each(?))"
        )
        runs = {row[0]: row[1:] for row in self._db.execute(query, (str([*wanted]),))}
        located: dict[int, tuple[TextMatch, int]] = {}
        for id in ids:
            run = self._runs[id]
            identity = self._identities.get(run.source)
            if identity is None or run.first not in runs:
                continue
            number, begin, spots = runs[run.first]
            offset = id - run.first
            time, at, size, length, role = unpacked(spots, offset)
            match = TextMatch(id, identity, number + offset, role, time, begin + at, size)
            located[id] = match, length
        return located


def _rarity(having: float, count: int) -> float:
    """Return the weight of a word that `having` of `count` conversations contain."""
    return math.log(1 + (count - having + 0.5) / (having + 0.5))


def _with_whole_word(found: dict[int, dict[int, float]]) -> set[int]:
    """Return the conversations that contain a word itself, or another form of the word.

    If no conversation contains one of these, return the conversations that contain a longer word
    which starts with the word. `found` has the weights of the matching texts of each conversation.
    """
    whole = {source for source, texts in found.items() if max(texts.values()) > _PREFIX_WEIGHT}
    return whole or {*found}
