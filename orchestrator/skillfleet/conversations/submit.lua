-- KEYS state events index unarchived [idempotency]  ARGV id spec state status due bell control timeout_ms tenant
--   priority parent_call root (kind data)*
-- answers {id, when it was accepted}: of the conversation that has the idempotency key, if one is kept; {'', 0}: of a
-- child that its parent does not wait for (any more)
local accepted = redis.call('HGET', KEYS[1], 'created')
if accepted then return {ARGV[1], tonumber(accepted)} end
if ARGV[11] ~= '' then
  if not begin_child(ARGV[11], ARGV[1]) then return {'', 0} end
  redis.call('HSET', KEYS[1], 'parent', ARGV[11])
end
if ARGV[12] ~= '' then redis.call('HSET', KEYS[1], 'root', ARGV[12]) end
if KEYS[5] then
  local first = redis.call('GET', KEYS[5])
  local from, to = string.find(KEYS[1], '{' .. ARGV[1] .. '}', 1, true)
  local state = first and string.sub(KEYS[1], 1, from) .. first .. string.sub(KEYS[1], to)
  local created = state and redis.call('HGET', state, 'created')
  if created then return {first, tonumber(created)} end
  redis.call('SET', KEYS[5], ARGV[1])
  redis.call('HSET', KEYS[1], 'idempotency', KEYS[5])
end
local now = now_ms()
redis.call('HSET', KEYS[1], 'spec', ARGV[2], 'state', ARGV[3], 'status', ARGV[4], 'fence', 0, 'seq', 0,
  'due', ARGV[5], 'bell', ARGV[6], 'control', ARGV[7], 'deadline', now + tonumber(ARGV[8]), 'own', ARGV[8],
  'created', now, 'out', '', 'tenant', ARGV[9], 'priority', ARGV[10])
for i = 13, #ARGV, 2 do tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', KEYS[3], now, ARGV[1])
redis.call('ZADD', KEYS[4], now, ARGV[1])
ring(ARGV[1])
return {ARGV[1], now}
