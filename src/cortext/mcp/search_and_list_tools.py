"""The MCP tools that find passages, topics, conversations and decisions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import field

from cortext.catalog.fulltext.fulltext_index import TITLE
from cortext.features.doctor.check_results import pluralize
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.listing.time_ranges import date_range
from cortext.features.listing.unique_conversation_names import reopens
from cortext.features.search.decisions import get_decisions as decided
from cortext.features.search.search import SearchHit, TextFilter
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.mcp import tool_arguments
from cortext.mcp.empty_search_answer import explain
from cortext.mcp.tool_answers import (
    NOTICE,
    AnswerFacts,
    ConversationFacts,
    QuotedBlock,
    Text,
    ToolAnswer,
    bars,
    conversation,
    fenced,
    fit_budget,
    make_inert,
    marked,
    new_nonce,
    quote_line,
    short,
    when,
)
from cortext.mcp.visibility import Reach, read_row

_PLACES = {"title": "title", "document": "document", "agents": "sub-agents"}
_PASSAGES = 3
"""The maximum number of passages of each conversation in an answer."""
_HOW_TO_READ = (
    "To read more, call get_conversation with the `id`, and with the number of a message as `from` "
    "or with `part: document` or `part: agents`."
)
_MORE_RESULTS = (
    "{} more conversations match: call again with `from: {}`, or with a larger `max_tokens`."
)
_MORE_TEXTS = "More texts match: a larger `limit` shows them."
_MORE_TEXTS_OF_ONE = "For more texts of one conversation, call again with its `id`."
_HOW_TO_SEARCH_OUTSIDE = (
    "`all: true` also searches outside this workspace. Use it only if the person agrees."
)


class Correction(AnswerFacts, kw_only=True):
    """A word of the query that no conversation contains, and the word that was searched instead."""

    typed: str
    used: str


class SearchAnswer(AnswerFacts, kw_only=True):
    """The passages that a search found, grouped by conversation, the best match first.

    `total` is the number of conversations that match. `next` is the value of `from` for the first
    conversation that was left out; None if no conversation was left out. If no conversation has all
    words of the query, `without` are the words that the first conversation lacks. `without_signs`
    is the number of passages that contain the words of the query, but not its punctuation. `unread`
    is the number of conversations that are not read yet: a later search may find more.

    If nothing was found, `did_you_mean` are similar words or titles, and `narrowed_by` are the
    arguments that exclude all results.
    """

    notice: str = NOTICE
    hits: list[Text]
    total: int = 0
    next: int | None = None
    without: list[str] = field(default_factory=list[str])
    corrections: list[Correction] = field(default_factory=list[Correction])
    without_signs: int = 0
    did_you_mean: list[str] = field(default_factory=list[str])
    narrowed_by: list[str] = field(default_factory=list[str])
    unread: int = 0


class TopicConversation(AnswerFacts, kw_only=True):
    """A conversation, and the passages in it that match the topic."""

    conversation: ConversationFacts
    texts: list[Text]


class ContextAnswer(AnswerFacts, kw_only=True):
    """The conversations about a topic, the best match first.

    `unread` is the number of conversations that are not read yet.
    """

    notice: str = NOTICE
    conversations: list[TopicConversation]
    unread: int = 0


class ListAnswer(AnswerFacts, kw_only=True):
    """Conversations, the most recently active first.

    `total` is the number of conversations on all pages. `next` is the value of `from` for the next
    page, or None on the last page. `unread` is the number of conversations that are not read yet.
    """

    notice: str = NOTICE
    conversations: list[ConversationFacts]
    total: int
    next: int | None
    unread: int = 0


class DecisionFacts(AnswerFacts, kw_only=True):
    """A sentence that states a decision, and the message that contains the sentence.

    `id` is the id of the conversation. `message` is the number of the message, counted from 1, and
    `message_id` is the id of the message.
    """

    id: str
    title: str
    message: int
    message_id: str
    role: str
    timestamp: str
    text: str


class DecisionsAnswer(AnswerFacts, kw_only=True):
    """The decisions about a topic, the best match first.

    `unread` is the number of conversations that are not read yet.
    """

    notice: str = NOTICE
    decisions: list[DecisionFacts]
    unread: int = 0


def search_workspace(reach: Reach, given: tool_arguments.SearchArguments) -> ToolAnswer:
    """Search the messages of past conversations in this workspace, best match first. Covers all AI
    tools. Use it when the person refers to earlier work, or before you decide something that may
    already be decided."""
    kind, span = reach.kind(given.type), date_range(given.date_range)
    question = SearchRequest(
        given.query,
        ListFilter(kind=kind),
        TextFilter(since=span.since, until=span.until),
        most=given.limit,
        each=_PASSAGES,
        only=reach.one(given.id, everywhere=given.everywhere).identity if given.id else None,
        skip=given.first - 1,
    )
    finder = reach.finder(everywhere=given.everywhere)
    page = finder.answer(question)
    if not page.total:
        return _empty_answer(reach, finder, question, given)
    hits, nonce = _best_first(page), new_nonce()
    order = {id(hit): n for n, hit in enumerate(hit for g in page.groups for hit in g.hits)}

    def build(count: int) -> ToolAnswer:
        shown = sorted(hits[:count], key=lambda hit: order[id(hit)])
        return _search_answer(reach, given, page, shown, nonce)

    return fit_budget(build, len(hits), given.max_tokens)


def _best_first(page: SearchPage) -> list[SearchHit]:
    """Return the best passage of each conversation, then the second passages, and so on."""
    most = max((len(group.hits) for group in page.groups), default=0)
    return [group.hits[n] for n in range(most) for group in page.groups if n < len(group.hits)]


def _search_answer(
    reach: Reach,
    given: tool_arguments.SearchArguments,
    page: SearchPage,
    shown: Sequence[SearchHit],
    nonce: str,
) -> ToolAnswer:
    """Return the answer to a search. It contains only the passages `shown`.

    `page` is the page of results to which these passages belong. `nonce` is the random text for the
    marker lines.
    """
    count = len({hit.row.identity for hit in shown})
    end = given.first - 1 + count
    more = end + 1 if end < page.total else None
    if not shown:
        return _answer_without_passages(given, page)
    hits = [_passage(reach, hit, nonce) for hit in shown]
    loose = sum(not hit.exact for hit in shown)
    corrections = [
        Correction(typed=short(word), used=short(used)) for word, used in page.corrections.items()
    ]
    without = [short(word) for word in page.missing]
    first = [f"Conversations {given.first} to {end} of {page.total}, best match first."]
    first += [
        f'No conversation contains "{each.typed}"; these are results for "{each.used}".'
        for each in corrections
    ]
    if without:
        first.append(f"No conversation has all words; the best one lacks: {', '.join(without)}.")
    if loose:
        which = "1 text matches" if loose == 1 else f"{loose} texts match"
        first.append(f"{which} the words of the query, but not its punctuation.")
    last = [_MORE_RESULTS.format(page.total - end, more)] if more else []
    if len(shown) < sum(len(group.hits) for group in page.groups[:count]):
        last.append("Some matching texts were left out: a larger `max_tokens` shows them.")
    elif any(group.more for group in page.groups[:count]):
        last.append(_MORE_TEXTS if given.id else _MORE_TEXTS_OF_ONE)
    facts = SearchAnswer(
        hits=hits,
        total=page.total,
        next=more,
        without=without,
        corrections=corrections,
        without_signs=loose,
    )
    blocks = [_block(hit, n) for n, hit in enumerate(hits, 1)]
    return ToolAnswer(facts, fenced(nonce, " ".join(first), blocks, [*last, _HOW_TO_READ]))


def _answer_without_passages(given: tool_arguments.SearchArguments, page: SearchPage) -> ToolAnswer:
    """Return the answer to a search if no passage can be shown.

    This page of results is empty, or no passage fits into `max_tokens`.
    """
    if not page.groups:
        text = f"No more results: {pluralize(page.total, 'conversation')} in all."
        return ToolAnswer(SearchAnswer(notice="", hits=[], total=page.total), text)
    text = (
        f"{pluralize(page.total, 'conversation')} found, but no text fits into "
        f"{given.max_tokens} tokens. Call again with a larger `max_tokens`, such as 1000."
    )
    facts = SearchAnswer(notice="", hits=[], total=page.total, next=given.first)
    return ToolAnswer(facts, text)


def _empty_answer(
    reach: Reach, finder: Finder, question: SearchRequest, given: tool_arguments.SearchArguments
) -> ToolAnswer:
    """Return the answer to a search that found nothing: the reason, and suggestions.

    If the search was limited to the workspace, the last line says how to search everywhere.
    """
    explanation, nonce = explain(finder, question), new_nonce()

    def build(count: int) -> ToolAnswer:
        words, titles = explanation.words[:count], explanation.titles[:count]
        blocks = [
            QuotedBlock(f"Did you mean {reach.name(row)} · {short(row.title)}?") for row in titles
        ]
        last = [f'Did you mean "{short(word)}"?' for word in words]
        last += [_HOW_TO_READ] if blocks else []
        last += [] if given.everywhere else [_HOW_TO_SEARCH_OUTSIDE]
        facts = SearchAnswer(
            notice=NOTICE if blocks else "",
            hits=[],
            did_you_mean=[short(word) for word in words] or [short(row.title) for row in titles],
            narrowed_by=[*explanation.narrowed],
        )
        if blocks:
            return ToolAnswer(facts, fenced(nonce, explanation.first, blocks, last))
        return ToolAnswer(facts, "\n".join(map(make_inert, (explanation.first, *last))))

    count = max(len(explanation.words), len(explanation.titles))
    return fit_budget(build, count, given.max_tokens)


def get_context(reach: Reach, given: tool_arguments.ContextArguments) -> ToolAnswer:
    """Collect what past conversations of this workspace say about a topic: the best matches, where
    each one stopped, and matching messages. Use it before you start a new task."""
    finder = reach.finder(everywhere=given.everywhere)
    request = SearchRequest(given.topic, most=given.max_results, each=_PASSAGES)
    found, nonce = finder.answer(request).groups, new_nonce()
    conversations = [
        TopicConversation(
            conversation=conversation(group.row, reach.name(group.row)),
            texts=[_passage(reach, hit, nonce) for hit in group.hits if hit.number != TITLE],
        )
        for group in found
    ]
    blocks: list[QuotedBlock] = []
    for number, each in enumerate(conversations, 1):
        facts = each.conversation
        blocks.append(
            QuotedBlock(
                f"{number}. {facts.id} · {facts.title} · {facts.type} · {facts.last_active}"
            )
        )
        blocks += (
            [QuotedBlock("Where it stopped:", quote_line(facts.summary))] if facts.summary else []
        )
        blocks += [_block(text) for text in each.texts]
    first = (
        f"{pluralize(len(conversations), 'conversation')} about this."
        if conversations
        else "Nothing was found."
    )
    last = [_HOW_TO_READ] if conversations else [] if given.everywhere else [_HOW_TO_SEARCH_OUTSIDE]
    return ToolAnswer(
        ContextAnswer(conversations=conversations), fenced(nonce, first, blocks, last)
    )


def list_conversations(reach: Reach, given: tool_arguments.List) -> ToolAnswer:
    """List the past conversations of this workspace, most recent first."""
    kind, span = reach.kind(given.type), date_range(given.date_range)
    wanted = ListFilter(kind=kind, status=given.status, since=span.since)
    rows = reach.rows(wanted, everywhere=given.everywhere, capture=True)
    if span.until is not None:
        rows = [row for row in rows if row.last_active < span.until]
    page = rows[given.first - 1 : given.first - 1 + given.limit]
    more = given.first + len(page) if given.first - 1 + len(page) < len(rows) else None
    listed, nonce = [conversation(row, reach.name(row)) for row in page], new_nonce()
    blocks = [
        QuotedBlock(f"{n}. {it.id} · {it.title} · {it.type} · {it.status}", quote_line(it.summary))
        for n, it in enumerate(listed, given.first)
    ]
    first = f"{len(listed)} of {pluralize(len(rows), 'conversation')}, most recent first."
    last = [f"More conversations: call again with `from: {more}`."] if more and page else []
    more = more if page else None
    return ToolAnswer(
        ListAnswer(conversations=listed, total=len(rows), next=more),
        fenced(nonce, first, blocks, last),
    )


def get_decisions(reach: Reach, given: tool_arguments.DecisionsArguments) -> ToolAnswer:
    """Find decisions about a topic in past conversations of this workspace. Returns sentences and
    their messages. A sentence is found by its words, so read its message before you rely on it."""
    finder, nonce = reach.finder(everywhere=given.everywhere), new_nonce()
    found = [
        DecisionFacts(
            id=reach.name(each.row),
            title=short(each.row.title),
            message=each.number,
            message_id=each.message_id,
            role=each.role,
            timestamp=when(each.time),
            text=marked(each.sentence, nonce),
        )
        for each in decided(given.topic, finder.ranked_rows, read_row, most=given.limit)
    ]
    blocks = [
        QuotedBlock(f"{n}. {it.id} · {it.title} · message {it.message} · {it.role}", bars(it.text))
        for n, it in enumerate(found, 1)
    ]
    first = f"{pluralize(len(found), 'decision')}." if found else "No decision was found."
    last = [_HOW_TO_READ] if found else [] if given.everywhere else [_HOW_TO_SEARCH_OUTSIDE]
    return ToolAnswer(DecisionsAnswer(decisions=found), fenced(nonce, first, blocks, last))


def _passage(reach: Reach, hit: SearchHit, nonce: str) -> Text:
    row = hit.row
    id = reach.name(row)
    return Text(
        id=id,
        title=short(row.title),
        type=row.kind or "chat",
        tool=row.tool_name or None,
        status=row.status,
        message=hit.number if hit.number > 0 else None,
        role=hit.role,
        timestamp=when(hit.time),
        text=marked(hit.snippet.text, nonce),
        resume=reopens(row, id, shlex.quote),
    )


def _block(text: Text, number: int | None = None) -> QuotedBlock:
    place = f"message {text.message}" if text.message else _PLACES.get(text.role, text.role)
    facts = [text.id, text.title, place, text.role, text.timestamp]
    count = "" if number is None else f"{number}. "
    return QuotedBlock(count + " · ".join(facts), bars(text.text))
