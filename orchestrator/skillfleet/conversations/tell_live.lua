-- KEYS state live  ARGV fence (kind data)*; answers 0 when the lease is lost, or what comes in is not wanted
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] or ended(KEYS[1]) then return 0 end
for i = 2, #ARGV, 2 do tell_live(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
return 1
