"""The PostgreSQL tables of the conversation store, and the SQL statements that use them.

Each statement takes one round trip, and takes effect completely or not at all. Times come from the
clock of the server.
"""

from __future__ import annotations

import re

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,39}")

MIGRATIONS = (
    """
    create table {schema}.conversations (
        id text primary key,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        owner text not null,
        metadata json not null,
        last_number bigint not null default 0
    );
    create index conversations_created on {schema}.conversations (created_at, id);
    create index conversations_owner on {schema}.conversations (owner, created_at, id);
    create table {schema}.messages (
        conversation text not null references {schema}.conversations on delete cascade,
        number bigint not null,
        id text not null,
        body json not null,
        primary key (conversation, number),
        unique (conversation, id)
    );
    """,
)
"""SQL statements that upgrade the tables, each from one version to the next.

Never change an entry; only add new ones.
"""

# The lock ends with the transaction, so a process that waited finds the tables ready.
LOCK = "select pg_advisory_xact_lock(hashtextextended('cortext conversations ' || %(schema)s, 0))"
BEGIN = """
    create schema if not exists {schema};
    create table if not exists {schema}.version (
        number integer primary key, applied_at timestamptz not null default now());
"""
VERSION = "select coalesce(max(number), 0) from {schema}.version"
SET_VERSION = "insert into {schema}.version (number) values (%(number)s)"
IS_THERE = "select to_regclass(%(schema)s || '.version') is not null"
# This index is created only if there is a TTL, because every new message has to update it.
TTL_INDEX = (
    "create index if not exists conversations_updated on {schema}.conversations (updated_at)"
)

_NOTIFY = "pg_notify('{schema}_events', json_build_object('kind', '%s', 'id', id)::text)"
_PLACEHOLDERS = {
    # PostgreSQL accepts less than 8,000 bytes in a notification.
    "{most}": "7800",
    "{alive}": "(%(ttl)s::float8 is null"
    " or updated_at > now() - make_interval(secs => %(ttl)s::float8))",
    **{f"{{{kind}}}": _NOTIFY % kind for kind in ("created", "deleted", "expired")},
}


class Statements:
    """The SQL statements of the conversation store, for the tables in one schema.

    Each attribute is one statement. ValueError is raised if the name of the schema is invalid.
    """

    def __init__(self, schema: str) -> None:
        if not _SCHEMA.fullmatch(schema):
            raise ValueError(
                f"schema must be at most 40 lower-case letters, digits and '_', not {schema!r:.60}"
            )
        self.schema = schema
        for name, text in _STATEMENTS.items():
            for part, meaning in (*_PLACEHOLDERS.items(), ("{schema}", schema)):
                text = text.replace(part, meaning)
            setattr(self, name, text)

    create: str
    get: str
    add: str
    history: str
    metadata: str
    change: str
    delete: str
    evict: str
    expire: str
    entries: str
    message: str
    listen: str
    mark: str
    usage: str


_STATEMENTS = {
    # If the row exists, this is a repeated attempt, and nothing happens.
    "create": """
        with made as (
            insert into {schema}.conversations (id, created_at, updated_at, owner, metadata)
            values (%(id)s, now(), now(), %(owner)s, %(metadata)s::json)
            on conflict (id) do nothing
            returning id)
        select {created} from made
    """,
    "get": """
        select created_at, updated_at, owner, metadata::text, array(
            select body::text from (
                select number, body from {schema}.messages where conversation = %(id)s
                order by number desc limit %(count)s) as last
            order by number)
        from {schema}.conversations where id = %(id)s and {alive}
    """,
    # The update locks the row of the conversation, so numbers follow the order of commits. If two
    # calls add the same message at once, the unique index accepts only one.
    "add": """
        with head as (
            update {schema}.conversations
            set last_number = last_number + 1,
                updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
            where id = %(id)s and {alive} and not exists (
                select from {schema}.messages where conversation = %(id)s and id = %(message)s)
            returning last_number),
        added as (
            insert into {schema}.messages (conversation, number, id, body)
            select %(id)s, last_number, %(message)s, %(body)s::json from head
            on conflict (conversation, id) do nothing
            returning number),
        told as (
            select pg_notify('{schema}_events', case when octet_length(%(body)s::text) < {most}
                then json_build_object(
                    'kind', 'message', 'id', %(id)s::text, 'message', %(body)s::json)::text
                else json_build_object(
                    'kind', 'message', 'id', %(id)s::text, 'number', number)::text end)
            from added)
        select (select count(*) from told), exists (
            select from {schema}.conversations where id = %(id)s and {alive})
    """,
    "history": """
        select body::text from {schema}.messages
        where conversation = %(id)s and exists (
            select from {schema}.conversations where id = %(id)s and {alive})
        order by number desc limit %(count)s
    """,
    "metadata": """
        select metadata::text from {schema}.conversations where id = %(id)s and {alive}
    """,
    "change": """
        update {schema}.conversations set metadata = %(about)s::json
        where id = %(id)s and metadata::text = %(known)s and {alive} returning id
    """,
    "delete": """
        with gone as (
            delete from {schema}.conversations where id = %(id)s and {alive} returning id)
        select {deleted} from gone
    """,
    "evict": """
        with gone as (
            delete from {schema}.conversations where id in (
                select id from {schema}.conversations
                order by created_at desc, id desc offset %(limit)s)
            returning id, created_at)
        select id, {deleted} from gone order by created_at, id
    """,
    "expire": """
        with gone as (
            delete from {schema}.conversations
            where updated_at <= now() - make_interval(secs => %(ttl)s::float8)
            returning id),
        told as (select id, {expired} from gone)
        select array(select id from told), (
            select extract(epoch from min(updated_at) - now())::float8 + %(ttl)s::float8
            from {schema}.conversations
            where updated_at > now() - make_interval(secs => %(ttl)s::float8))
    """,
    "entries": """
        select id, created_at, updated_at, owner, metadata::text from {schema}.conversations
        where (%(owner)s::text is null or owner = %(owner)s
            or (%(below)s and starts_with(owner, %(owner)s || '/'))) and {alive}
        order by created_at desc, id desc limit %(count)s
    """,
    "message": """
        select body::text from {schema}.messages
        where conversation = %(id)s and number = %(number)s
    """,
    "usage": """
        select (select count(*) from {schema}.conversations),
            pg_total_relation_size('{schema}.conversations')
            + pg_total_relation_size('{schema}.messages')
    """,
    "listen": "listen {schema}_events",
    "mark": "select pg_notify(%(channel)s, %(mark)s)",
}
