-- KEYS state calls events  ARGV call attempt worker once effects id
-- `once` names this claim: the client sends it again when the connection broke before the answer came.
local call, attempt = ARGV[1], tonumber(ARGV[2])
local record = redis.call('HMGET', KEYS[2], call .. ':attempt', call .. ':claim', call .. ':result', call .. ':sent')
-- Its message has come to a worker, whatever becomes of it: its place is free. Those that got theirs before it and
-- still have it were overtaken.
local s = redis.call('HMGET', KEYS[1], 'queue', 'bell')
if s[1] and redis.call('ZREM', s[1] .. SENT, call_of(ARGV[6], call)) == 1 then
  local mark = s[1] .. MARK
  if redis.call('ZCARD', s[1] .. SENT) > 0 and tonumber(record[4] or 0) > tonumber(redis.call('GET', mark) or 0) then
    redis.call('SET', mark, record[4], 'EX', 3600)
  end
  if redis.call('EXISTS', s[1] .. WAITING) == 1 then ring_bell(s[2], ARGV[6]) end
end
if not is_out(KEYS[1], call) then return 'ended' end
if paused(KEYS[1]) then return 'paused' end
if record[2] == ARGV[4] then return 'claimed' end
if tonumber(record[1] or 0) >= attempt or record[3] then return 'taken' end
redis.call('HSET', KEYS[2], call .. ':attempt', attempt, call .. ':beat', now_ms(), call .. ':worker', ARGV[3],
  call .. ':claim', ARGV[4], call .. ':effects', ARGV[5])
tell(KEYS[1], KEYS[3], 'started', cjson.encode({key = call, attempt = attempt, worker = ARGV[3]}))
return 'claimed'
