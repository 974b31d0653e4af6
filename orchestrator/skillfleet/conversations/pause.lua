-- KEYS state  ARGV id; answers -1 unknown, 0 had ended or is bound to, 1 asked
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if ended(KEYS[1]) then return 0 end
if redis.call('HSETNX', KEYS[1], 'pause', now_ms()) == 0 then return 1 end
-- Who waits for a model sees it with the next commit: to take the conversation away now would waste the reply.
local s = redis.call('HMGET', KEYS[1], 'status', 'out', 'children', 'listening')
if s[1] ~= 'running' or s[2] ~= '' or (s[3] or '') ~= '' or (s[4] or '') ~= '' then ring(ARGV[1]) end
return 1
