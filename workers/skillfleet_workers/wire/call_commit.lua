-- KEYS state calls events  ARGV call attempt result told retries told_of_failure forks('1': not only a turn's last is looked at)
local function dropped(why)
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HINCRBY', KEYS[1], 'dropped', 1) end
  return why
end
local call = ARGV[1]
local held = redis.call('HMGET', KEYS[2], call .. ':result', call .. ':attempt', call .. ':failed', call .. ':failures')
-- The client sends it again when the connection broke before the answer came.
if held[1] == ARGV[3] then return 'recorded' end
if ended(KEYS[1]) then return dropped('ended') end
if held[1] or held[2] ~= ARGV[2] then return dropped('duplicate') end
if held[3] == ARGV[2] then return 'again' end
local s = redis.call('HMGET', KEYS[1], 'out', 'unsent', 'fence', 'held')
local out = s[1] or ''
if not listed(out, call) then return dropped('ended') end
if tonumber(held[4] or 0) < tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[2], call .. ':failed', ARGV[2])
  redis.call('HINCRBY', KEYS[2], call .. ':failures', 1)
  tell(KEYS[1], KEYS[3], 'failed', ARGV[6])
  -- Whoever holds the conversation now has not seen it.
  redis.call('HSET', KEYS[1], 'news', redis.call('HGET', KEYS[1], 'fence'))
  ring(id_of(KEYS[1]))
  return 'again'
end
redis.call('HSET', KEYS[2], call .. ':result', ARGV[3])
tell(KEYS[1], KEYS[3], 'result', ARGV[4])
-- There is room for one of the calls that wait to be sent; or a child is to begin. Whoever holds the conversation now
-- looks at it when that is stored: to have it taken away would waste what is under way.
local news, held = ARGV[7] == '1' or s[2] == '1', s[3] == s[4]
if news then redis.call('HSET', KEYS[1], 'news', s[3]) end
if (news and not held) or all_in(out, KEYS[2]) then ring(id_of(KEYS[1])) end
return 'recorded'
