"""The Lua scripts of the Redis conversation store.

Each script runs in one round trip, and takes effect completely or not at all. Times are in
microseconds, by the clock of the server.

The *head* of a conversation is a hash with its times, owner and metadata. All keys of one
conversation share the hash tag `PREFIX:{ID}`, so they are in the same slot of a cluster. The lists
of all conversation ids are in another slot. The list `due` has the time when each conversation
expires.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple


class ConversationScript(NamedTuple):
    """The text of a Lua script, and its SHA-1 hash.

    The client sends the hash. It sends the text only if the server does not know the hash.
    """

    text: str
    sha: str


def _script(text: str) -> ConversationScript:
    return ConversationScript(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_NOW = "local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]\n"

# Create a conversation, and return the time of its creation.
# KEYS: head. ARGV: milliseconds until it expires, owner, metadata, channel, event.
BEGIN = _script(
    _NOW
    + """
local created = redis.call('HGET', KEYS[1], 'createdAt')
local at = created or string.format('%d', now)
redis.call('HSET', KEYS[1], 'createdAt', at, 'updatedAt', at, 'owner', ARGV[2],
           'metadata', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
if not created then redis.call('PUBLISH', ARGV[4], ARGV[5]) end
return at
"""
)

# Make a conversation permanent, so that it no longer expires. KEYS: head.
KEEP = _script("""
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('PERSIST', KEYS[1])
-- Write at a repeated attempt too: a WAIT after it then also waits for the first attempt.
redis.call('HSET', KEYS[1], 'kept', '1')
return 1
""")

# Add a message. Return 0 if the conversation does not exist, 1 if the message was already stored,
# and 2 (ADDED) if it was added.
# KEYS: head, messages, ids. ARGV: id, message, window, number of ids to remember, TTL in
# milliseconds (0: none), channel, event.
ADDED = 2
ADD = _script(
    _NOW
    + """
local ttl = ARGV[5]
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('LPOS', KEYS[3], ARGV[1]) then
  -- Write something: a WAIT after it then also waits for the earlier writes.
  redis.call('HSET', KEYS[1], 'repeated', ARGV[1])
  return 1
end
redis.call('RPUSH', KEYS[2], ARGV[2])
redis.call('LTRIM', KEYS[2], -ARGV[3], -1)
-- Trim the ids only when there are twice as many, so that trimming is rare.
if redis.call('RPUSH', KEYS[3], ARGV[1]) > 2 * ARGV[4] then
  redis.call('LTRIM', KEYS[3], -ARGV[4], -1)
end
redis.call('HSET', KEYS[1], 'updatedAt', string.format('%d', now))
if ttl ~= '0' then
  for key = 1, 3 do redis.call('PEXPIRE', KEYS[key], ttl) end
end
redis.call('PUBLISH', ARGV[6], ARGV[7] .. ARGV[2] .. '}')
return 2
"""
)

# Return the head and the last messages of a conversation. KEYS: head, messages. ARGV: window.
GET = _script("""
local head = redis.call('HMGET', KEYS[1], 'createdAt', 'updatedAt', 'owner', 'metadata')
if not head[1] then return false end
return {head, redis.call('LRANGE', KEYS[2], -ARGV[1], -1)}
""")

# Delete a conversation. Return 1 if it existed, otherwise 0.
# KEYS: head, messages, ids. ARGV: channel, event.
DELETE = _script("""
local there = redis.call('EXISTS', KEYS[1])
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
if there == 1 then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
return there
""")

# Add a conversation to the lists of ids. Return the number of conversations, and the ids of the
# oldest conversations above the limit.
# KEYS: created, due, owners, below. ARGV: id, TTL in milliseconds (0: none), limit (0: none),
# owner, time of creation.
ADD_TO_LISTS = _script(
    _NOW
    + """
redis.call('ZADD', KEYS[1], ARGV[5], ARGV[1])
if ARGV[2] ~= '0' then redis.call('ZADD', KEYS[2], now + ARGV[2] * 1000, ARGV[1]) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[4])
redis.call('ZADD', KEYS[3] .. ':' .. ARGV[4], ARGV[5], ARGV[1])
local top = string.match(ARGV[4], '^([^/]*)/')
if top then redis.call('ZADD', KEYS[4] .. ':' .. top, ARGV[5], ARGV[1]) end
local count, extra = redis.call('ZCARD', KEYS[1]), {}
if ARGV[3] ~= '0' and count > tonumber(ARGV[3]) then
  extra = redis.call('ZRANGE', KEYS[1], 0, count - ARGV[3] - 1)
end
return {count, extra}
"""
)

# Remove a conversation from the lists of ids. Return 1 if it was listed, otherwise 0, and the
# number of conversations that remain. KEYS: created, due, owners, below. ARGV: id.
UNLIST = _script("""
redis.call('ZREM', KEYS[2], ARGV[1])
local owner = redis.call('HGET', KEYS[3], ARGV[1])
if owner then
  redis.call('HDEL', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[3] .. ':' .. owner, ARGV[1])
  local top = string.match(owner, '^([^/]*)/')
  if top then redis.call('ZREM', KEYS[4] .. ':' .. top, ARGV[1]) end
end
return {redis.call('ZREM', KEYS[1], ARGV[1]), redis.call('ZCARD', KEYS[1])}
""")

# Merge two lists of ids, and return the ids, newest first.
# KEYS: the list of an owner, and the list of all owners named `OWNER/...`. ARGV: index of the last
# id to return (-1: all).
MERGE_LISTS = _script("""
local last = tonumber(ARGV[1])
local own = redis.call('ZRANGE', KEYS[1], 0, last, 'REV', 'WITHSCORES')
local below = redis.call('ZRANGE', KEYS[2], 0, last, 'REV', 'WITHSCORES')
local found, i, j = {}, 1, 1
while (own[i] or below[j]) and (last < 0 or #found <= last) do
  if not below[j] or (own[i] and tonumber(own[i + 1]) >= tonumber(below[j + 1])) then
    found[#found + 1] = own[i]
    i = i + 2
  else
    found[#found + 1] = below[j]
    j = j + 2
  end
end
return found
""")

# Append a line with changes to the metadata. Return all lines of the metadata, or nothing if the
# conversation does not exist. KEYS: head. ARGV: changes.
CHANGE = _script("""
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local lines = (redis.call('HGET', KEYS[1], 'metadata') or '{}') .. '\\n' .. ARGV[1]
redis.call('HSET', KEYS[1], 'metadata', lines)
return lines
""")

# Replace the lines of the metadata by one line, unless the metadata has changed meanwhile.
# KEYS: head. ARGV: the lines of the metadata, and the same metadata in one line.
JOIN = _script("""
if redis.call('HGET', KEYS[1], 'metadata') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'metadata', ARGV[2])
end
return 1
""")

# Return the ids whose time in `due` has passed, and the milliseconds until the next time in `due`
# (-1: there is none).
# KEYS: due. ARGV: maximum number of ids.
DUE = _script(
    _NOW
    + """
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local next = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%d', now), '+inf',
                        'WITHSCORES', 'LIMIT', 0, 1)
if next[2] then return {found, math.ceil((next[2] - now) / 1000)} end
return {found, -1}
"""
)

# Set a later time in `due`, because the conversation still exists.
# KEYS: due. ARGV: id, milliseconds from now.
AGAIN = _script(_NOW + "return redis.call('ZADD', KEYS[1], 'XX', now + ARGV[2] * 1000, ARGV[1])")
