"""The scripts that run on a Redis server: each is one round trip, and all of it or nothing.

KEYS are those of one session, which share a hash tag and so a slot of a cluster: head, records,
ids, alone, hold; and for WRITE the new records and their ids. Those that write to a session begin
with GUARD: ARGV 1 is the token of whoever has it alone, or nothing; ARGV 2 how long that lasts;
ARGV 3 the token of whoever holds it for a change, or nothing.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

FORMAT = "1"
"""The version of how a session is kept in keys."""


class SessionScript(NamedTuple):
    """A script, and the name under which a server that has seen it knows it."""

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

# ARGV 4 the token of this call, then the key and the line of each record. How many are new: those
# that an earlier attempt of the same call added count.
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

# KEYS the new records and their ids. ARGV how long they wait to take the others' place, in ms; how
# many were brought before, then the key and the line of each. Those that an earlier attempt brought
# are not brought again; where earlier ones are missing, WRITE will notice.
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

# ARGV 4 the version that was read ('' for no session), 5 the head, 6 its owner, 7 the new epoch, or
# nothing where the records stay, 8 the token of this call, 9 how many the new records are: those
# that took too long to get here have expired. A version is of its epoch: one that was removed and
# made anew counts from 1 again.
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

# Whether there was one.
REMOVE: SessionScript = _script(
    _GUARD
    + """
if not about[1] then return {'none'} end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
return {'done'}
"""
)

# ARGV the first and the last record. Nothing without a session.
FETCH: SessionScript = _script("""
local head = redis.call('HMGET', KEYS[1], 'format', 'version', 'head', 'owner', 'epoch')
if not head[1] then return false end
head[2] = head[2] .. ' ' .. (head[5] or '')
head[5] = nil
local lines = {}
if ARGV[1] ~= '' then lines = redis.call('LRANGE', KEYS[2], ARGV[1], -1) end
return {head, lines}
""")

# ARGV the epoch and the number of a mark. The records, and from which one on: from the beginning
# also if there are fewer than were read, because the server lost the last ones.
SINCE: SessionScript = _script("""
local about = redis.call('HMGET', KEYS[1], 'format', 'epoch')
if not about[1] then return false end
local start, epoch = 0, about[2] or ''
if epoch == ARGV[1] and redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then
  start = tonumber(ARGV[2])
end
return {about[1], epoch, start, redis.call('LRANGE', KEYS[2], start, -1)}
""")

# KEYS one lock. ARGV its token. Whether it was still ours.
RELEASE: SessionScript = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
""")

# KEYS one lock. ARGV its token, ms. Whether it is still ours, and then for so long.
EXTEND: SessionScript = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
""")
