-- KEYS due  ARGV lease_ms state_prefix state_suffix [only]; answers {id, fence, now} or {false, ms until due or -1}
local now = now_ms()
local id, score = ARGV[4], nil
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
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), id)
return {id, redis.call('HINCRBY', state, 'fence', 1), now}
