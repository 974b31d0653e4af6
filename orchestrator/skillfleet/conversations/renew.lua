-- KEYS state due  ARGV id fence lease_ms release('1' hands back) tenant_slots; answers 0 when the lease is lost
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[2] then return 0 end
local capped = tonumber(ARGV[5]) > 0
if ARGV[4] == '1' then
  ring(ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
  if capped then
    holds_no_more(KEYS[2], tenant_of(KEYS[1]), ARGV[1], redis.call('HGET', KEYS[1], 'bell'))
  end
  return 1
end
if ended(KEYS[1]) then return 0 end
-- What has been rung for meanwhile stays ready.
redis.call('ZADD', KEYS[2], 'XX', now_ms() + tonumber(ARGV[3]), ARGV[1])
if capped then holds(KEYS[2], tenant_of(KEYS[1]), ARGV[1], tonumber(ARGV[3])) end
return 1
