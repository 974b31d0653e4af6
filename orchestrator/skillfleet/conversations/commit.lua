-- KEYS state events calls due end  ARGV id fence state status due_ms('' keeps the lease) out ttl_s once (kind data)*
-- `once` names this commit: the client sends it again when the connection broke before the answer came.
local held = redis.call('HMGET', KEYS[1], 'fence', 'commit')
if held[2] == ARGV[8] then return 1 end
if held[1] ~= ARGV[2] then return 0 end
if terminal(ARGV[4]) then call_off(KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'status', ARGV[4], 'out', ARGV[6], 'commit', ARGV[8])
for i = 9, #ARGV, 2 do tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
if terminal(ARGV[4]) then
  redis.call('ZREM', KEYS[4], ARGV[1])
  redis.call('XADD', KEYS[5], '*', 'status', ARGV[4])
  for _, i in ipairs({1, 2, 3, 5}) do redis.call('EXPIRE', KEYS[i], tonumber(ARGV[7])) end
elseif ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1])
  -- A cancellation, or a result that came in since the claim, is looked at now.
  if ended(KEYS[1]) or all_in(KEYS[1], KEYS[3]) then ring(KEYS[1], ARGV[1]) end
else
  return 1
end
-- Let go: a lease that is renewed late must not push the due time away.
redis.call('HINCRBY', KEYS[1], 'fence', 1)
return 1
