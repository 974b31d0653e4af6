-- KEYS state calls live  ARGV call attempt kind told; answers 0 when the call is no longer wanted
if not is_out(KEYS[1], ARGV[1]) then return 0 end
if tonumber(redis.call('HGET', KEYS[2], ARGV[1] .. ':attempt') or 0) ~= tonumber(ARGV[2]) then return 0 end
tell_live(KEYS[1], KEYS[3], ARGV[3], ARGV[4])
return 1
