-- KEYS state  ARGV id; answers -1 unknown, 0 had ended or is bound to, 1 goes on
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if ended(KEYS[1]) then return 0 end
local since = redis.call('HGET', KEYS[1], 'pause')
if not since then return 1 end
redis.call('HDEL', KEYS[1], 'pause')
local rested = now_ms() - since
redis.call('HINCRBY', KEYS[1], 'paused', rested)
if redis.call('HEXISTS', KEYS[1], 'deadline') == 1 then redis.call('HINCRBY', KEYS[1], 'deadline', rested) end
ring(ARGV[1])
return 1
