-- KEYS state events calls due end dead messages
-- ARGV id fence state status due_ms('' keeps the lease) out ttl_s once dead max_dead given_up
--   tenant_slots queue rooms look_ms sends own_ms taken orphaned fields (field value)* (kind data)*
-- `own_ms`: from its acceptance to its deadline, but for the time that it was paused.
-- `fields`: how many of the state hash are set besides.
-- `given_up`: fields of the calls hash, as KEY:result, that have not come.
-- `sends`: calls to be sent, each KEY:AGAIN:ROUTE. Where one gets a place, the next look is `look_ms` from now at the latest.
-- `taken`: places in its mailbox. `orphaned`: JSON of what is told to who waits for an answer of one that ends.
-- Answers {0} when the lease is lost, or is ended by a pause, or by the result of a call that is given up here; else
-- 1 and the calls that got a place in the tool queue.
-- `once` names this commit: the client sends it again when the connection broke before the answer came.
local id, status, due, out = ARGV[1], ARGV[4], KEYS[4], ARGV[6]
local queue, rooms, sends = ARGV[13], ARGV[14], ARGV[16]
local held = redis.call('HMGET', KEYS[1], 'fence', 'commit', 'out', 'queue', 'tenant', 'priority', 'bell',
  'pause', 'cancel', 'deadline', 'news', 'idempotency', 'blobs', 'routed', 'children', 'parent', 'own',
  'listening', 'root')
local tenant, priority = held[5] or DEFAULT_TENANT, tonumber(held[6] or DEFAULT_PRIORITY)
if held[2] == ARGV[8] then
  local released = {1}
  for key, route in string.gmatch(sends, '([%d.]+):%d:([^,]*)') do
    local call = call_of(id, key)
    if redis.call('ZSCORE', queue_of(queue, route) .. SENT, call) then released[#released + 1] = call end
  end
  return released
end
if held[1] ~= ARGV[2] then return {0} end

local function let_go()
  -- A lease that is renewed late must not push the due time away.
  redis.call('HINCRBY', KEYS[1], 'fence', 1)
  if tonumber(ARGV[12]) > 0 then holds_no_more(due, tenant, id, held[7]) end
end

for come in string.gmatch(ARGV[11], '[^,]+') do
  if redis.call('HEXISTS', KEYS[3], come) == 1 then
    ring(id)
    let_go()
    return {0}
  end
end
local first_told = 21 + 2 * tonumber(ARGV[20])
for i = 21, first_told - 1, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
local ending = redis.call('HGET', KEYS[1], 'ending')
if terminal(status) or ending then call_off(KEYS[1], id) end
-- Nothing comes to it any more but the ends of its children.
if ending then redis.call('HSET', KEYS[1], 'cancel', '1') end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'status', status, 'out', out, 'commit', ARGV[8],
  'queue', sends ~= '' and queue or held[4] or queue)
-- It waits for a person, or no longer: its deadline moves by that much, wherever a pause has moved it meanwhile.
local deadline = held[10]
if deadline and held[17] ~= ARGV[17] then
  deadline = tonumber(deadline) + tonumber(ARGV[17]) - tonumber(held[17] or ARGV[17])
  redis.call('HSET', KEYS[1], 'deadline', deadline, 'own', ARGV[17])
end
for place in string.gmatch(ARGV[18], '[^,]+') do redis.call('XDEL', mailbox_key(id), place) end
for i = first_told, #ARGV, 2 do
  -- Of a child that is left, its end was told when it came.
  local left = ARGV[i] == 'child' and cjson.decode(ARGV[i + 1]).key
  if not left or redis.call('HEXISTS', KEYS[3], left .. ':child') == 0 then
    tell(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
for call in string.gmatch(ARGV[9], '[^,]+') do
  redis.call('ZADD', KEYS[6], 'NX', now_ms(), call)
  redis.call('ZREMRANGEBYRANK', KEYS[6], 0, -1 - tonumber(ARGV[10]))
end

-- Calls that are out no more, or may not start, or were sent by way of another queue.
for key in string.gmatch(held[3] or '', '[^,]+') do
  if held[4] and (status == 'paused' or not listed(out, key) or (sends ~= '' and held[4] ~= queue)) then
    local route = held[14] and redis.call('HGET', KEYS[3], key .. ':route') or ''
    vacate(held[4], route, tenant, id, key)
  end
end
local answer, look_ms, soon = {1}, tonumber(ARGV[15]), false
local routed = held[14]
for key, again, route in string.gmatch(sends, '([%d.]+):(%d):([^,]*)') do
  if route ~= '' and not routed then routed = redis.call('HSET', KEYS[1], 'routed', '1') end
  if routed then take_route(queue, route, tenant, id, key) end
  if send(queue, route, tenant, priority, id, key, again == '1', rooms) then
    answer[#answer + 1], soon = call_of(id, key), true
  end
end
for _, call in ipairs(release(queue, rooms, look_ms, id)) do
  answer[#answer + 1], soon = call, soon or parts_of(call) == id
end

-- Of the children that it wanted, those that it wants no more have ended, or are to.
local children = redis.call('HGET', KEYS[1], 'children') or ''
end_children(id, held[15] or '', children)

-- What has come before it listened, nobody has looked at.
local heard_late = listens_anew(id, held[18] or '')
if heard_late then redis.call('HSET', KEYS[1], 'news', ARGV[2]) end

local turned = not ending and (held[8] ~= false) ~= (status == 'paused')
if terminal(status) then
  if redis.call('ZREM', due, id) == 0 then not_ready(due, tenant, id) end
  redis.call('XADD', KEYS[5], '*', 'status', status)
  if held[16] then end_child(held[16], id, status, redis.call('HGET', KEYS[1], 'outcome')) end
  for _, i in ipairs({1, 2, 3, 5}) do redis.call('EXPIRE', KEYS[i], tonumber(ARGV[7])) end
  redis.call('EXPIRE', live_key(id), LIVE_ENDED_S)
  redis.call('EXPIRE', kept_key(id), tonumber(ARGV[7]))
  end_mail(id, held[19] or id, ARGV[19], KEYS[7], tonumber(ARGV[7]))
  if held[12] then redis.call('EXPIRE', held[12], tonumber(ARGV[7])) end
  for blob in string.gmatch(held[13] or '', '[^\n]+') do redis.call('EXPIRE', blob, tonumber(ARGV[7])) end
elseif ARGV[5] ~= '' then
  -- A pause, its end, a cancellation, a result or a failure that came in since the claim is looked at now.
  local bound_to_end = not ending and bound(status, held[9], deadline, held[8])
  if heard_late or held[11] == ARGV[2] or turned or bound_to_end or all_in(out, KEYS[3]) then
    ring(id)
  else
    local at = tonumber(ARGV[5])
    if soon then at = math.min(at, now_ms() + look_ms) end
    wait_until(due, tenant, id, at)
    -- Whoever sleeps may mean to do so beyond that.
    if at - now_ms() < tonumber(LONGEST_SLEEP_MS) then ring_bell(held[7], id) end
  end
elseif turned then
  ring(id)
  answer = {0}
else
  return answer
end
let_go()
return answer
