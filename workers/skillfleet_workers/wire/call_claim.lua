-- KEYS state calls events  ARGV call attempt worker once effects
-- `once` names this claim: the client sends it again when the connection broke before the answer came.
if not is_out(KEYS[1], ARGV[1]) then return 'ended' end
if paused(KEYS[1]) then return 'paused' end
local call, attempt = ARGV[1], tonumber(ARGV[2])
local started = tonumber(redis.call('HGET', KEYS[2], call .. ':attempt') or 0)
if redis.call('HGET', KEYS[2], call .. ':claim') == ARGV[4] then return 'claimed' end
if started >= attempt or redis.call('HEXISTS', KEYS[2], call .. ':result') == 1 then return 'taken' end
redis.call('HSET', KEYS[2], call .. ':attempt', attempt, call .. ':beat', now_ms(), call .. ':worker', ARGV[3],
  call .. ':claim', ARGV[4], call .. ':effects', ARGV[5])
tell(KEYS[1], KEYS[3], 'started', cjson.encode({key = call, attempt = attempt, worker = ARGV[3]}))
return 'claimed'
