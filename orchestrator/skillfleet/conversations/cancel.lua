-- KEYS state  ARGV id; answers -1 unknown, 0 had ended, 1 asked
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if terminal(redis.call('HGET', KEYS[1], 'status')) then return 0 end
redis.call('HSET', KEYS[1], 'cancel', '1')
call_off(KEYS[1], ARGV[1])
ring(ARGV[1])
return 1
