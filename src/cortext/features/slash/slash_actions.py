"""Run the slash commands of cortext, such as `/workspace.resume`, inside an AI tool.

Each command returns a text for the agent. After a failure, the text also says what the user can do,
so that the agent can tell the user.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from cortext import paths
from cortext.catalog.lookup import misspelt, nearest
from cortext.catalog.row import ConversationRow
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.capture.bindings import ConversationRef, bind, mark_all_seen
from cortext.features.capture.capture import capture
from cortext.features.capture.current_conversation import (
    conversation_of_session,
    find_current_binding,
    find_row,
)
from cortext.features.capture.pending_bindings import (
    bind_process,
    describe_pending,
    disambiguate_session,
    find_current_session,
    note_nonce,
)
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.manage.stop_conversation import stop
from cortext.features.resume.agent_briefing import (
    activate,
    configured_servers,
    explain_read_only,
    make_briefing,
)
from cortext.features.resume.missing_messages import find_missing, render_missing
from cortext.features.slash.list_numbers import numbered, remember
from cortext.features.slash.slash_reply_texts import (
    document_of,
    entries,
    explain_already_bound,
    plain,
    saves,
    section,
    text_of,
    title_of,
)
from cortext.formats.history_text import render_text
from cortext.tools.running_sessions import note_running
from cortext.tools.surrounding_session import here
from cortext.workspace.workspace import Workspace

_MAX_SHOWN = 20
_RESUMABLE = ListFilter(with_session=True)
_QUESTION = "Which conversation would you like to continue? (number or search)"


class Slash:
    """The slash commands of cortext, called in one session of one AI tool.

    `typed` is true if the user typed the command, so that its output becomes part of the
    transcript. It is false if an agent called the command. `inside` is the tool session; None
    outside a tool. `nonce` is a random text. If `waits` is true, the caller must print `nonce` with
    the output. Cortext then finds the transcript of this session by the nonce.
    """

    def __init__(self, root: str | None = None, *, typed: bool = False) -> None:
        self.root: str = root or paths.workspace_root()
        self.nonce: str = os.urandom(16).hex()
        self.waits: bool = False
        self.inside = here()
        self._session = self._find_session(typed)
        self._conversations = ConversationList(self.root)

    def _find_session(self, typed: bool) -> str:
        """Return the id of the tool session that called the command; "" if it is not certain.

        The session with the newest transcript is not always the right one: the user may have
        started a session that has no transcript yet.
        """
        process = self.inside.process if self.inside else None
        if self.inside is None or self.inside.is_told or not process:
            return self.inside.id if self.inside else ""
        if not typed:
            self.inside = disambiguate_session(self.inside)
            return self.inside.id
        known = find_current_session(self.inside)
        is_first = note_nonce(self.inside.tool, process, self.nonce)
        if known:
            self.inside = self.inside._replace(ids=(known,))
            return known
        return self.inside.id if is_first and self.inside.id in process.arguments else ""

    def list(self) -> str:
        """Return the list of resumable conversations, and instructions to let the user choose."""
        rows = self._without_current(self._conversations.list(_RESUMABLE, capture=True).rows)
        if not rows:
            return (
                "There are no resumable conversations. Tell the person so in one sentence, and "
                "suggest starting one, for example with `/workspace.brainstorm`."
            )
        shown = rows[:_MAX_SHOWN]
        self._remember(shown)
        more = len(rows) - len(shown)
        lines = ["Here are your resumable conversations:", "", entries(shown)]
        if more:
            lines += ["", f"and {more} more; search for them by words of the title"]
        return "\n".join([section(self.root, "Choosing"), "", *lines, "", _QUESTION])

    def briefing(self, words: str, *, reopen: bool = False) -> str:
        """Return a briefing, with which an agent continues a conversation.

        `words` are the number, the id or words of the title of the conversation. The conversation
        becomes active and is bound to this session. If `words` is empty, return the list of
        conversations. If no or several conversations match, or if the conversation is completed and
        `reopen` is false, return a text that makes the agent ask the user.
        """
        if not words.strip():
            return self.list()
        try:
            row = self._find(words)
        except SessionNotFoundError:
            return self._no_match(words)
        except AmbiguousIdError:
            return self._several_matches(words)
        if row.status == "completed" and not reopen:
            return (
                f'The conversation "{row.title}" was marked complete. Tell the person, and ask '
                "whether to continue it anyway. If the answer is yes, run "
                f'`cortext slash briefing --reopen "{row.key}"` in a shell and do what it prints. '
                "If the answer is no, stop here."
            )
        return self._resume(as_conversation(row))

    def new(self, kind: str, topic: str) -> str:
        """Create a conversation of the type `kind` for this session.

        Return instructions for the agent. `topic` is the text that the user wrote after the
        command. If it is empty, or if the session already has an active conversation, create
        nothing.
        """
        workspace = Workspace(self.root)
        workspace.types.check(kind)
        bound = self._bound_conversation()
        if bound is not None:
            return explain_already_bound(bound, kind, topic)
        text = workspace.types.command(kind).rstrip("\n")
        if not topic.strip():
            return f"{text}\n\nThe person wrote nothing after `/workspace.{kind}`. Ask, as above."
        started = workspace.new(kind, title_of(topic))
        place = workspace.store.place_of(started.session.id, started.session)
        self._bind(ConversationRef(self.root, place))
        return "\n".join(
            (
                f"{text}\n",
                f"The ID of this conversation: {place.day}/{place.name}",
                f"The markdown of this conversation: {started.document}",
                *saves(self.inside),
                "",
                f"The person wrote this after `/workspace.{kind}` (each line starts with a bar):",
                render_text(topic.strip()),
            )
        )

    def how_to_stop(self, words: str) -> str:
        """Return instructions for the agent when the user wants to stop the conversation.

        `words` is the text that the user wrote after the command.
        """
        lines = [text_of(self.root, "stop-conversation").rstrip("\n"), ""]
        bound = self._bound_conversation(also_at_rest=True)
        if bound is not None:
            lines.append(f"The ID of this conversation: {bound.place.day}/{bound.place.name}")
            document = document_of(bound)
            if document:
                lines.append(f"The markdown of this conversation: {document}")
        if words.strip():
            said = "The person wrote this after the command (each line starts with a bar):"
            lines += [said, render_text(words.strip())]
        return "\n".join(lines)

    def stop(self, summary: str, *, id: str = "", done: bool = False) -> tuple[str, Sequence[str]]:
        """Save and pause a conversation; return a confirmation for the user, and notes.

        `id` identifies the conversation. By default, the conversation of this session is stopped.
        If `done` is true, the conversation is completed instead of paused.
        """
        row = self._find(id) if id else self._find_to_stop()
        stopped = stop(row, summary=" ".join(summary.split()) or None, completed=done)
        title, outline = plain(stopped.title), plain(stopped.summary) or "no messages yet"
        lost = describe_pending(ConversationRef(row.workspace, row.place)) if not row.tool else []
        text = (
            f"{f'Nothing was saved: {lost[0]}.' if lost else 'Session saved.'}\n\n"
            f'Conversation "{title}" has been {"completed" if done else "paused"}.\n'
            "You can continue later with /workspace.resume\n\n"
            f"Summary: {outline}"
        )
        return text, [plain(note) for note in stopped.notes]

    def _find(self, words: str) -> ConversationRow:
        row = numbered(self._conversations, self.inside, words)
        found = [row] if row else self._find_named(words)
        if not found:
            raise SessionNotFoundError(words, noun="conversation")
        if len(found) > 1:
            raise AmbiguousIdError(words, [row.key for row in found])
        return found[0]

    def _find_named(self, words: str) -> Sequence[ConversationRow]:
        """Return the conversations that match the words: a number, an id or words of a title.

        The conversation of this session is returned only if no other conversation matches. Its
        title may contain the words, because the user has just typed them in this session.
        """
        found = self._conversations.find(words)
        return self._without_current(found) or found

    def _without_current(self, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        own = self.inside.ids if self.inside else ()
        return [row for row in rows if row.key not in own]

    def _find_to_stop(self) -> ConversationRow:
        row = conversation_of_session(self.root)
        if row is not None:
            return row
        active = self._conversations.active()
        if len(active) == 1:
            return active[0]
        if active:
            raise AmbiguousIdError("", [row.key for row in active])
        raise CortextError(
            "no conversation is active in this folder",
            hint="choose one with `--id ID`; `cortext slash list` lists the conversations",
        )

    def _resume(self, row: ConversationRow) -> str:
        if row.status and not explain_read_only(row):
            capture(row.workspace, row.place)
            # The capture may have found the tool session of the conversation.
            row = find_row(ConversationRef(row.workspace, row.place)) or row
        missing = self._find_missing(row)
        budget = int(self._conversations.config["resume.budget"])
        tool_and_folder = (self.inside.tool, paths.current_folder()) if self.inside else ()
        servers = partial(configured_servers, row, *tool_and_folder)
        briefing = make_briefing(row, budget=budget, servers=servers, with_history=missing is None)
        history = (
            briefing.history if missing is None else render_missing(row, missing, budget=budget)
        )
        read_only = activate(row, reopen=True)
        if not read_only:
            self._bind(row)
        if self.inside and self._session and missing != [] and not read_only:
            mark_all_seen(row, self.inside.tool, self._session)
        reasons = [warning for warning in (*briefing.warnings, read_only) if warning]
        warnings = [f"Warning: {plain(warning)}" for warning in reasons]
        parts = [
            section(self.root, "Going on"),
            "\n".join(warnings),
            briefing.opening,
            "" if read_only else "\n".join(saves(self.inside)),
            history,
        ]
        return "\n\n".join(part for part in parts if part)

    def _find_missing(self, row: ConversationRow) -> Sequence[int] | None:
        """Return the numbers of the conversation's messages that this session lacks.

        Return None if the session needs the whole history.
        """
        if self.inside is None or self._session not in row.session_ids:
            return None

        return find_missing(row, self.inside.tool, self._session)

    def _bound_conversation(self, *, also_at_rest: bool = False) -> ConversationRef | None:
        """Return the active conversation that this session is bound to, or None.

        If `also_at_rest` is true, a paused or completed conversation is returned too.
        """
        if self.inside is None:
            return None
        found = find_current_binding(self.inside, surely=not also_at_rest)
        if found is None or also_at_rest:
            return found
        status = Workspace(found.root).store.head_at(found.place).status
        return found if status == "active" else None

    def _bind(self, conversation: ConversationRow | ConversationRef) -> None:
        """Bind this session to a conversation.

        From now on, the messages of the session belong to the conversation.
        """
        if self.inside is None:
            return
        if self._session:
            bind(conversation, self.inside.tool, self._session)
            if self.inside.process:  # Mark the session as open, in case no hook does.
                note_running(self.inside.tool, self._session, self.inside.process)
        elif self.inside.process:
            bind_process(conversation, self.inside.tool, self.inside.process, self.nonce)
            self.waits = True

    def _no_match(self, words: str) -> str:
        rows = self._conversations.list(_RESUMABLE).rows
        found = misspelt(words, rows)[:_MAX_SHOWN] or nearest(words, rows)
        lines = [f'No conversation matches "{plain(words)}". Say so in one sentence.']
        if found:
            self._remember(found)
            lines += ["These are the closest. Ask whether the person means one of them:"]
            lines += [
                entries(found),
                'If so, run `cortext slash briefing "NUMBER"` with its number.',
            ]
            lines += ["Then do what the command prints."]
        else:
            lines += ["Suggest other words, `/workspace.resume` without words, or a new"]
            lines += ["conversation, for example with `/workspace.brainstorm`."]
        return "\n".join(lines)

    def _several_matches(self, words: str) -> str:
        found = self._find_named(words)
        self._remember(found[:_MAX_SHOWN])
        return "\n".join(
            (
                section(self.root, "Choosing"),
                "",
                f'{len(found)} conversations match "{plain(words)}":',
                "",
                entries(found[:_MAX_SHOWN]),
                "",
                _QUESTION,
            )
        )

    def _remember(self, rows: Sequence[ConversationRow]) -> None:
        remember(self.inside, self.root, rows)
