-- KEYS state events calls due  ARGV id fence state status due_ms('' keeps the lease) out ttl_s (kind data)*
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'status', ARGV[4], 'out', ARGV[6])
for i = 8, #ARGV, 2 do tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
local s = ARGV[4]
if s == 'completed' or s == 'failed' or s == 'cancelled' or s == 'expired' then
  redis.call('ZREM', KEYS[4], ARGV[1])
  for i = 1, 3 do redis.call('EXPIRE', KEYS[i], tonumber(ARGV[7])) end
elseif ARGV[5] ~= '' then
  redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1])
  -- A cancellation, or a result that came in since the claim, is looked at now.
  if ended(KEYS[1]) or all_in(KEYS[1], KEYS[3]) then ring(KEYS[1], ARGV[1]) end
end
return 1
