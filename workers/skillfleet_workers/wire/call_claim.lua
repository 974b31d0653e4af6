-- KEYS state calls events  ARGV call attempt worker once effects id
-- `once` names this claim: the client sends it again when the connection broke before the answer came.
local call, attempt = ARGV[1], tonumber(ARGV[2])
local record = redis.call('HMGET', KEYS[2], call .. ':attempt', call .. ':claim', call .. ':result', call .. ':sent',
  call .. ':route')
-- Its message has come to a worker, whatever becomes of it.
local s = redis.call('HMGET', KEYS[1], 'status', 'cancel', 'deadline', 'pause', 'out', 'queue', 'bell')
if s[6] then leave_place(queue_of(s[6], record[5] or ''), s[7], call_of(ARGV[6], call), tonumber(record[4] or 0)) end
if bound(s[1], s[2], s[3], s[4]) or not listed(s[5] or '', call) then return 'ended' end
if s[4] then return 'paused' end
if record[2] == ARGV[4] then return 'claimed' end
if tonumber(record[1] or 0) >= attempt or record[3] then return 'taken' end
redis.call('HSET', KEYS[2], call .. ':attempt', attempt, call .. ':beat', now_ms(), call .. ':worker', ARGV[3],
  call .. ':claim', ARGV[4], call .. ':effects', ARGV[5])
tell(KEYS[1], KEYS[3], 'started', cjson.encode({key = call, attempt = attempt, worker = ARGV[3]}))
return 'claimed'
