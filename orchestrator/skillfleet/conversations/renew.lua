-- KEYS state due  ARGV id fence lease_ms release('1' hands back); answers 0 when the lease is lost
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[2] then return 0 end
if ARGV[4] == '1' then
  ring(KEYS[1], ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
  return 1
end
if ended(KEYS[1]) then return 0 end
redis.call('ZADD', KEYS[2], now_ms() + tonumber(ARGV[3]), ARGV[1])
return 1
