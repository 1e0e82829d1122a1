"""The MCP tools that find passages, topics, conversations and decisions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import field

from cortext.catalog.row import ConversationRow
from cortext.features.doctor.problem import pluralize
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.listing.time_ranges import Span, date_range
from cortext.features.listing.unique_names import reopens
from cortext.features.search.decisions import get_decisions as decided
from cortext.features.search.search import SearchCursor, SearchHit, TextFilter
from cortext.features.search.search_results import SearchRequest
from cortext.formats.text_search.search_query import folded, parse
from cortext.formats.text_search.text_folding import bare
from cortext.mcp import tool_arguments
from cortext.mcp.no_matches import near
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
    marked,
    new_nonce,
    quote_line,
    short,
    when,
)
from cortext.mcp.visibility import Reach, read_row

_PLACES = {"title": "title", "document": "document", "agents": "sub-agents"}
_PASSAGES = 3
"""The number of passages of each conversation that `get_context` returns."""
_MAX_HITS = 200
_HOW_TO_READ = (
    "To read more, call get_conversation with the `id`, and with the number of a message as `from` "
    "or with `part: document` or `part: agents`."
)
_HOW_TO_SEARCH_OUTSIDE = (
    "`all: true` also searches outside this workspace. Use it only if the person agrees."
)


class SearchAnswer(AnswerFacts, kw_only=True):
    """The passages that a search found, the newest first.

    `next` is the `from` of the next page; None means that this is the last page. `without_signs` is
    the number of passages at the end that contain the words of the query, but not its punctuation.
    `unread` is the number of conversations that are not read yet: a later search may find more.

    The other fields are set if nothing was found. `near` are passages that match partly, and
    `without` are the words of the query that these passages lack. `did_you_mean` are similar words
    or titles. `narrowed_by` are the arguments that exclude all results.
    """

    notice: str = NOTICE
    hits: list[Text]
    next: str | None
    without_signs: int = 0
    near: list[Text] = field(default_factory=list[Text])
    without: list[str] = field(default_factory=list[str])
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

    `total` is the number of conversations on all pages. `next` is the `from` of the next page; None
    means that this is the last page. `unread` is the number of conversations that are not read yet.
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
    """Search the messages of past conversations in this workspace, newest first. Covers all AI
    tools. Use it when the person refers to earlier work, or before you decide something that may
    already be decided."""
    kind, span = reach.kind(given.type), date_range(given.date_range)
    after, everywhere = SearchCursor.read(given.first) if given.first else None, given.everywhere
    found = reach.search_without_titles(
        given.query,
        kind=kind,
        span=span,
        most=given.limit + 1,
        everywhere=everywhere,
        after=after,
    )
    if not found and after is None:
        narrow = TextFilter(since=span.since, until=span.until)
        question = SearchRequest(given.query, ListFilter(kind=kind), narrow, most=given.limit)
        return _empty_answer(reach, question, everywhere)
    page, nonce = found[: given.limit], new_nonce()
    more = str(page[-1].place) if len(found) > len(page) else None
    loose = sum(not hit.exact for hit in page)
    hits = [_passage(reach, hit, nonce) for hit in page]
    first = f"{pluralize(len(hits), 'text')}, newest first." if hits else "No more results."
    if loose:
        which = "The last one matches" if loose == 1 else f"The last {loose} match"
        which = which if loose < len(hits) else "It matches" if loose == 1 else "They match"
        first += f" {which} the words of the query, but not its punctuation."
    last = [f'More results: call again with `from: "{more}"`.'] if more else []
    last += [_HOW_TO_READ] if hits else []
    blocks = [_block(hit, n) for n, hit in enumerate(hits, 1)]
    return ToolAnswer(
        SearchAnswer(hits=hits, next=more, without_signs=loose), fenced(nonce, first, blocks, last)
    )


def _empty_answer(reach: Reach, question: SearchRequest, everywhere: bool) -> ToolAnswer:
    """Return the answer to a search that found nothing: the reason, and texts that match partly.

    If the search was limited to the workspace, the last line says how to search everywhere.
    """
    explanation, nonce = near(reach.finder(everywhere=everywhere), question), new_nonce()
    texts = [_passage(reach, hit, nonce) for hit in explanation.hits]
    titles = [short(row.title) for row in explanation.titles]
    blocks = [_block(text, n) for n, text in enumerate(texts, 1)]
    blocks += [
        QuotedBlock(f"Did you mean {reach.name(row)} · {short(row.title)}?")
        for row in explanation.titles
    ]
    last = [f'Did you mean "{word}"?' for word in explanation.words]
    last += [_HOW_TO_READ] if blocks else []
    last += [] if everywhere else [_HOW_TO_SEARCH_OUTSIDE]
    facts = SearchAnswer(
        hits=[],
        next=None,
        near=texts,
        without=[*explanation.without],
        did_you_mean=[*explanation.words] or titles,
        narrowed_by=[*explanation.narrowed],
    )
    return ToolAnswer(facts, fenced(nonce, explanation.first, blocks, last))


def get_context(reach: Reach, given: tool_arguments.ContextArguments) -> ToolAnswer:
    """Collect what past conversations of this workspace say about a topic: the best matches, where
    each one stopped, and matching messages. Use it before you start a new task."""
    found = _by_conversation(reach, given.topic, given.everywhere)[: given.max_results]
    nonce = new_nonce()
    conversations = [
        TopicConversation(
            conversation=conversation(row, reach.name(row)),
            texts=[_passage(reach, hit, nonce) for hit in _sort_by_role(hits)[:_PASSAGES]],
        )
        for row, hits in found
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

    def find(text: str, most: int) -> Sequence[SearchHit]:
        span, everywhere = Span(), given.everywhere
        return reach.search(text, kind=None, span=span, most=most, everywhere=everywhere)

    nonce = new_nonce()
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
        for each in decided(given.topic, find, read_row, most=given.limit)
    ]
    blocks = [
        QuotedBlock(f"{n}. {it.id} · {it.title} · message {it.message} · {it.role}", bars(it.text))
        for n, it in enumerate(found, 1)
    ]
    first = f"{pluralize(len(found), 'decision')}." if found else "No decision was found."
    last = [_HOW_TO_READ] if found else [] if given.everywhere else [_HOW_TO_SEARCH_OUTSIDE]
    return ToolAnswer(DecisionsAnswer(decisions=found), fenced(nonce, first, blocks, last))


def _by_conversation(
    reach: Reach, topic: str, everywhere: bool
) -> list[tuple[ConversationRow, list[SearchHit]]]:
    """Return the conversations that contain words of a topic, each with its search hits.

    The first conversation contains the most words of the topic. If two conversations contain
    equally many, the conversation with more hits comes first, then the newer conversation.
    """
    words = list(dict.fromkeys(" ".join(term.tokens) for term in parse(topic).terms))
    any_of = " OR ".join(f'"{word}"' for word in words)
    found: dict[tuple[str, str], tuple[ConversationRow, list[SearchHit]]] = {}
    scores: dict[tuple[str, str], int] = {}
    for query, weight in ((topic, len(words)), (any_of, 0)) if words else ():
        for hit in reach.search(
            query, kind=None, span=Span(), most=_MAX_HITS, everywhere=everywhere
        ):
            row, hits = found.setdefault(hit.row.identity, (hit.row, []))
            if all((hit.number, hit.role) != (other.number, other.role) for other in hits):
                hits.append(hit)
            snippet = bare(folded(hit.snippet.text))
            score = weight or sum(word in snippet for word in words)
            scores[row.identity] = max(scores.get(row.identity, 0), score)
    return sorted(
        found.values(),
        key=lambda each: (scores[each[0].identity], min(len(each[1]), 10), each[0].last_active),
        reverse=True,
    )


def _sort_by_role(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """Return hits in messages of users and agents first, then hits in other texts.

    Hits in titles are left out.
    """
    messages = [hit for hit in hits if hit.role in ("user", "assistant")]
    return messages + [hit for hit in hits if hit.number and hit not in messages]


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
