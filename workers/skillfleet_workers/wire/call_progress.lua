-- KEYS state calls events  ARGV call attempt told; answers 0 when the call is no longer wanted
if not is_out(KEYS[1], ARGV[1]) then return 0 end
if tonumber(redis.call('HGET', KEYS[2], ARGV[1] .. ':attempt') or 0) ~= tonumber(ARGV[2]) then return 0 end
tell(KEYS[1], KEYS[3], 'progress', ARGV[3])
return 1
