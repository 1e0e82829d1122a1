"""The Lua scripts of the Redis session store.

Each script runs in one round trip and takes effect completely or not at all. Unless the comment of
a script says otherwise, KEYS are the Redis keys of one session:

- KEYS 1 to 3: the head, the records, and the ids of the records
- KEYS 4: the exclusive lock (`alone`)
- KEYS 5: the lock of one write (`hold`)
- KEYS 6 and 7, only for WRITE: the new records and their ids

All keys of a session contain the same text in braces, so a cluster stores them on the same node.

A script that writes to a session begins with `_GUARD`, which takes three arguments:

- ARGV 1: the token of the exclusive lock, or "" if the caller does not hold that lock
- ARGV 2: the milliseconds after which the exclusive lock expires
- ARGV 3: the token of the caller's lock for this write, or ""
"""

from __future__ import annotations

import hashlib

import msgspec

FORMAT = "1"
"""The version of the format in which a session is stored in Redis keys."""


class SessionScript(msgspec.Struct, frozen=True):
    """The text of a Lua script, and its SHA-1 hash.

    A server that has run the script before accepts the hash instead of the text.
    """

    text: str
    sha: str


def _script(text: str) -> SessionScript:
    return SessionScript(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_GUARD = """
if ARGV[1] ~= '' then
  if redis.call('GET', KEYS[4]) ~= ARGV[1] then return {'lost'} end
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
local holder = redis.call('GET', KEYS[5])
if holder and holder ~= ARGV[3] then return {'held', holder} end
local about = redis.call('HMGET', KEYS[1], 'format', 'version', 'epoch')
if about[1] and about[1] ~= '1' then return {'newer', about[1]} end
"""

# ARGV 4: the token of this call. Then the key and the line of each record. Return how many records
# are new; a record that an earlier attempt of the same call added counts as new.
APPEND: SessionScript = _script(
    _GUARD
    + """
if not about[1] then return {'none'} end
local new = 0
for at = 5, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[3], ARGV[at], ARGV[4]) == 1 then
    redis.call('RPUSH', KEYS[2], ARGV[at + 1])
    new = new + 1
  elseif redis.call('HGET', KEYS[3], ARGV[at]) == ARGV[4] then
    new = new + 1
  end
end
redis.call('HINCRBY', KEYS[1], 'version', 1)
return {'done', new}
"""
)

# KEYS: the new records and their ids. ARGV 1: the milliseconds until they expire unless WRITE moves
# them into place. ARGV 2: how many records were sent before. Then the key and the line of each
# record. Records that an earlier attempt sent are not added again. If earlier records are missing,
# WRITE notices that.
UPLOAD: SessionScript = _script("""
if redis.call('LLEN', KEYS[1]) == tonumber(ARGV[2]) then
  for at = 3, #ARGV, 2 do
    redis.call('HSET', KEYS[2], ARGV[at], '')
    redis.call('RPUSH', KEYS[1], ARGV[at + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return redis.call('LLEN', KEYS[1])
""")

# ARGV 4: the version that was read, '' for no session. 5: the head. 6: its owner. 7: the new epoch,
# '' if the records stay as they are. 8: the token of this call. 9: the number of new records, which
# differs from the number on the server if some have expired. The version includes the epoch: a
# session that was deleted and created again counts from 1 again.
WRITE: SessionScript = _script(
    _GUARD
    + """
if redis.call('HGET', KEYS[1], 'call') == ARGV[8] then return {'done'} end
local now = about[2] and about[2] .. ' ' .. (about[3] or '') or ''
if now ~= ARGV[4] then return {'changed'} end
if ARGV[7] ~= '' and redis.call('LLEN', KEYS[6]) ~= tonumber(ARGV[9]) then return {'expired'} end
redis.call('HSET', KEYS[1], 'format', '1', 'head', ARGV[5], 'owner', ARGV[6], 'call', ARGV[8])
redis.call('HINCRBY', KEYS[1], 'version', 1)
if ARGV[7] ~= '' then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[7])
  redis.call('UNLINK', KEYS[2], KEYS[3])
  for at = 6, 7 do
    if redis.call('EXISTS', KEYS[at]) == 1 then
      redis.call('RENAME', KEYS[at], KEYS[at - 4])
      redis.call('PERSIST', KEYS[at - 4])
    end
  end
end
return {'done'}
"""
)

# Return whether there was a session: 'done' or 'none'.
REMOVE: SessionScript = _script(
    _GUARD
    + """
if not about[1] then return {'none'} end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
return {'done'}
"""
)

# ARGV 1: the index of the first record to return, '' for no records. Return nothing if there is no
# session.
FETCH: SessionScript = _script("""
local head = redis.call('HMGET', KEYS[1], 'format', 'version', 'head', 'owner', 'epoch')
if not head[1] then return false end
head[2] = head[2] .. ' ' .. (head[5] or '')
head[5] = nil
local lines = {}
if ARGV[1] ~= '' then lines = redis.call('LRANGE', KEYS[2], ARGV[1], -1) end
return {head, lines}
""")

# ARGV: the position of a reader (its epoch and number). Return the records after the position, and
# the index of the first one. Return all records if the epoch has ended, or if the server lost
# records that the reader has read.
SINCE: SessionScript = _script("""
local about = redis.call('HMGET', KEYS[1], 'format', 'epoch')
if not about[1] then return false end
local start, epoch = 0, about[2] or ''
if epoch == ARGV[1] and redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then
  start = tonumber(ARGV[2])
end
return {about[1], epoch, start, redis.call('LRANGE', KEYS[2], start, -1)}
""")

# KEYS: a lock. ARGV: its token. Return whether the caller still held the lock.
RELEASE: SessionScript = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
""")

# KEYS: a lock. ARGV: its token, and the milliseconds after which it expires. Return whether the
# caller still holds the lock.
EXTEND: SessionScript = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")
