-- KEYS state calls events  ARGV call attempt result told
if ended(KEYS[1]) then return 'ended' end
local field = ARGV[1] .. ':result'
if redis.call('HEXISTS', KEYS[2], field) == 1 then return 'duplicate' end
if tonumber(redis.call('HGET', KEYS[2], ARGV[1] .. ':attempt') or 0) ~= tonumber(ARGV[2]) then return 'duplicate' end
if not is_out(KEYS[1], ARGV[1]) then return 'ended' end
redis.call('HSET', KEYS[2], field, ARGV[3])
tell(KEYS[1], KEYS[3], 'result', ARGV[4])
if all_in(KEYS[1], KEYS[2]) then
  ring(KEYS[1], string.match(KEYS[1], '{(.-)}'))
end
return 'recorded'
