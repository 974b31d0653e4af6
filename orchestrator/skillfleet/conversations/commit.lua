-- KEYS state events calls due end dead
-- ARGV id fence state status due_ms('' keeps the lease) out ttl_s once dead max_dead given_up (kind data)*
-- Answers 0 when the lease is lost, or is ended by a pause, or by the result of a call that is given up here.
-- `once` names this commit: the client sends it again when the connection broke before the answer came.
local held = redis.call('HMGET', KEYS[1], 'fence', 'commit')
if held[2] == ARGV[8] then return 1 end
if held[1] ~= ARGV[2] then return 0 end
for call in string.gmatch(ARGV[11], '[^,]+') do
  if redis.call('HEXISTS', KEYS[3], call .. ':result') == 1 then
    ring(KEYS[1], ARGV[1])
    redis.call('HINCRBY', KEYS[1], 'fence', 1)
    return 0
  end
end
if terminal(ARGV[4]) then call_off(KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'status', ARGV[4], 'out', ARGV[6], 'commit', ARGV[8])
for i = 12, #ARGV, 2 do tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
for call in string.gmatch(ARGV[9], '[^,]+') do
  redis.call('ZADD', KEYS[6], 'NX', now_ms(), call)
  redis.call('ZREMRANGEBYRANK', KEYS[6], 0, -1 - tonumber(ARGV[10]))
end
local turned = (paused(KEYS[1]) ~= false) ~= (ARGV[4] == 'paused')
if terminal(ARGV[4]) then
  redis.call('ZREM', KEYS[4], ARGV[1])
  redis.call('XADD', KEYS[5], '*', 'status', ARGV[4])
  for _, i in ipairs({1, 2, 3, 5}) do redis.call('EXPIRE', KEYS[i], tonumber(ARGV[7])) end
  for blob in string.gmatch(redis.call('HGET', KEYS[1], 'blobs') or '', '[^\n]+') do
    redis.call('EXPIRE', blob, tonumber(ARGV[7]))
  end
  local key = redis.call('HGET', KEYS[1], 'idempotency')
  if key then redis.call('EXPIRE', key, tonumber(ARGV[7])) end
elseif ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1])
  -- A pause, its end, a cancellation, a result or a failure that came in since the claim is looked at now.
  local news = redis.call('HGET', KEYS[1], 'news') == ARGV[2]
  if news or turned or ended(KEYS[1]) or all_in(KEYS[1], KEYS[3]) then ring(KEYS[1], ARGV[1]) end
elseif turned then
  ring(KEYS[1], ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
  return 0
else
  return 1
end
-- Let go: a lease that is renewed late must not push the due time away.
redis.call('HINCRBY', KEYS[1], 'fence', 1)
return 1
