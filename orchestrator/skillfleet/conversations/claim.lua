-- KEYS due  ARGV lease_ms id_prefix state_suffix calls_suffix events_suffix format left_alone_ms [only]; answers {id, fence, now, state, calls, events} or
-- {false, ms until due or -1}
local now = now_ms()
local id, score = ARGV[8], nil
if id then
  score = redis.call('ZSCORE', KEYS[1], id)
else
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  id, score = first[1], first[2]
end
if not score then return {false, -1} end
if tonumber(score) > now then return {false, math.ceil(tonumber(score) - now)} end
local state = ARGV[2] .. id .. ARGV[3]
if redis.call('EXISTS', state) == 0 then
  redis.call('ZREM', KEYS[1], id)
  return {false, 0}
end
-- A newer version wrote it.
local format = string.match(redis.call('HGET', state, 'state'), '^{"format":(%d+)')
if format and tonumber(format) > tonumber(ARGV[6]) then
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[7]), id)
  return {false, 0}
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), id)
local fence = redis.call('HINCRBY', state, 'fence', 1)
return {id, fence, now, redis.call('HGETALL', state), redis.call('HGETALL', ARGV[2] .. id .. ARGV[4]),
  redis.call('XRANGE', ARGV[2] .. id .. ARGV[5], '-', '+')}
