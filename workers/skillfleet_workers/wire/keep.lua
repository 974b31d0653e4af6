-- KEYS state kept  ARGV task_id json
-- It is given an expiry with its conversation's end; after that nothing is kept.
if not ended(KEYS[1]) then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
