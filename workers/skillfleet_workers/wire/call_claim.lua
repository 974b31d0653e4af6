-- KEYS state calls events  ARGV call attempt worker
if ended(KEYS[1]) then return 'ended' end
local call, attempt = ARGV[1], tonumber(ARGV[2])
local started = tonumber(redis.call('HGET', KEYS[2], call .. ':attempt') or 0)
if started >= attempt or redis.call('HEXISTS', KEYS[2], call .. ':result') == 1 then return 'taken' end
redis.call('HSET', KEYS[2], call .. ':attempt', attempt, call .. ':beat', now_ms(), call .. ':worker', ARGV[3])
tell(KEYS[1], KEYS[3], 'started', cjson.encode({key = call, attempt = attempt, worker = ARGV[3]}))
return 'claimed'
