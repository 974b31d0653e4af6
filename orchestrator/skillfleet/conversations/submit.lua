-- KEYS state events index  ARGV id spec state status due bell control timeout_ms index_ttl_ms (kind data)*
-- answers when it was accepted
local accepted = redis.call('HGET', KEYS[1], 'created')
if accepted then return tonumber(accepted) end
local now = now_ms()
redis.call('HSET', KEYS[1], 'spec', ARGV[2], 'state', ARGV[3], 'status', ARGV[4], 'fence', 0, 'seq', 0,
  'due', ARGV[5], 'bell', ARGV[6], 'control', ARGV[7], 'deadline', now + tonumber(ARGV[8]), 'created', now, 'out', '')
for i = 10, #ARGV, 2 do tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', KEYS[3], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[9]))
ring(KEYS[1], ARGV[1])
return now
