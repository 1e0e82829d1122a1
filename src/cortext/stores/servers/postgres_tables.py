"""The PostgreSQL tables of the session store, and the SQL statements that use them.

A space is a named part of a database with its own sessions. The tables contain the sessions of all
spaces. Each statement takes effect completely or not at all.
"""

from __future__ import annotations

SCHEMA = "cortext_sessions"
VERSION = 1
_PARTS = {
    "{schema}": SCHEMA,
    "{version}": str(VERSION),
    "{one}": "where space = %(space)s and id = %(id)s",
    "{of_one}": "where space = %(space)s and session = %(id)s",
    "{whose}": "where space = %(space)s and (%(owner)s::text is null or owner = %(owner)s)",
    "{lock}": f"hashtextextended('{SCHEMA} ' || %(space)s || ' ' || %(id)s, 0)",
}


def _sql(text: str) -> str:
    for part, meaning in _PARTS.items():
        text = text.replace(part, meaning)
    return text


IS_THERE: str = _sql("select to_regclass('{schema}.version') is not null")
LOCK: str = _sql("select pg_advisory_xact_lock(hashtextextended('{schema}', 0))")
MAKE: str = _sql("""
    create schema if not exists {schema};
    create table if not exists {schema}.version (number integer primary key);
    create table if not exists {schema}.sessions (
        space text not null,
        id text not null,
        owner text not null,
        epoch text not null,
        last_number bigint not null,
        head text not null,
        primary key (space, id)
    );
    create index if not exists sessions_owner on {schema}.sessions (space, owner);
    create table if not exists {schema}.records (
        space text not null,
        session text not null,
        number bigint not null,
        key text,
        call text not null,
        line text not null,
        primary key (space, session, number),
        unique (space, session, key),
        foreign key (space, session) references {schema}.sessions on delete cascade
    );
    insert into {schema}.version values ({version}) on conflict do nothing;
""")
STORED_VERSION: str = _sql("select max(number) from {schema}.version")

HEAD_TO_CHANGE: str = _sql("select head from {schema}.sessions {one} for update")
LINES: str = _sql("select line from {schema}.records {of_one} order by number")

# A single statement, so that the head and the records are from the same moment.
FETCH: str = _sql("""
    select head, array(
        select line from (
            select number, line from {schema}.records {of_one}
            order by number desc limit %(last)s) as last
        order by number)
    from {schema}.sessions {one}
""")
SINCE: str = _sql("""
    select epoch, last_number, array(
        select line from {schema}.records {of_one} and number > case
            when sessions.epoch = %(epoch)s and last_number >= %(number)s::bigint
            then %(number)s::bigint else 0 end
        order by number)
    from {schema}.sessions {one}
""")

# The update locks the row of the session until the commit, so numbers follow the order of commits.
# If two calls add the same record at once, the unique index accepts only one. Records that an
# earlier attempt of the same call added count as new.
APPEND: str = _sql("""
    with head as (
        update {schema}.sessions set last_number = last_number + cardinality(%(keys)s::text[])
        {one} returning last_number - cardinality(%(keys)s::text[]) as before),
    added as (
        insert into {schema}.records (space, session, number, key, call, line)
        select %(space)s, %(id)s, before + nth, key, %(call)s, line
        from head, unnest(%(keys)s::text[], %(lines)s::text[]) with ordinality
            as given (key, line, nth)
        on conflict (space, session, key) do nothing
        returning 1),
    repeated as (
        select 1 from {schema}.records {of_one} and call = %(call)s
            and key = any(%(keys)s::text[]))
    select exists (select from head),
        (select count(*) from added) + (select count(*) from repeated)
""")

CREATE: str = _sql("""
    insert into {schema}.sessions (space, id, owner, epoch, last_number, head)
    values (%(space)s, %(id)s, %(owner)s, '', 0, %(head)s)
    on conflict do nothing returning id
""")
CHANGE: str = _sql("update {schema}.sessions set owner = %(owner)s, head = %(head)s {one}")
NEW_EPOCH: str = _sql("""
    update {schema}.sessions
    set epoch = %(epoch)s, last_number = cardinality(%(lines)s::text[]) {one}
""")
CLEAR: str = _sql("delete from {schema}.records {of_one}")
FILL: str = _sql("""
    insert into {schema}.records (space, session, number, key, call, line)
    select %(space)s, %(id)s, nth, key, '', line
    from unnest(%(keys)s::text[], %(lines)s::text[]) with ordinality as given (key, line, nth)
""")
DELETE: str = _sql("delete from {schema}.sessions {one} returning id")
IDS: str = _sql("select id from {schema}.sessions where space = %(space)s")
HEADS: str = _sql("select id, head, null from {schema}.sessions {whose}")
HEADS_AND_LAST: str = _sql("""
    select id, head, (
        select line from {schema}.records
        where records.space = sessions.space and session = sessions.id
        order by number desc limit 1)
    from {schema}.sessions {whose}
""")

# The exclusive lock of one session. `PostgresStore.alone` takes the lock; a write does not.
ALONE: str = _sql("select pg_advisory_lock({lock})")
LEFT: str = _sql("select pg_advisory_unlock({lock})")
