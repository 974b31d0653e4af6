-- KEYS state calls events  ARGV id call kind('approval' or 'answer') decision told
-- What a person says of a call that waits for such a word: the first one counts.
if redis.call('EXISTS', KEYS[1]) == 0 then return 'unknown' end
local field = ARGV[2] .. ':decision'
local before = redis.call('HGET', KEYS[2], field)
-- The client sends it again when the connection broke before the answer came.
if before then return before == ARGV[4] and 'decided' or 'decided_before' end
if ended(KEYS[1]) then return 'ended' end
local asking = redis.call('HGET', KEYS[1], 'asking') or ''
if not listed(asking, ARGV[2] .. '=' .. ARGV[3]) then
  return asks(asking, ARGV[2]) and 'other_kind' or 'not_asked'
end
redis.call('HSET', KEYS[2], field, ARGV[4])
tell(KEYS[1], KEYS[3], 'decided', ARGV[5])
-- Whoever holds the conversation now has not seen it.
redis.call('HSET', KEYS[1], 'news', redis.call('HGET', KEYS[1], 'fence'))
ring(ARGV[1])
return 'decided'
