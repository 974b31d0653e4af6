-- KEYS due bell  ARGV lease_ms tenant_slots queue rooms look_ms format left_alone_ms [only]
-- Answers {released, id, fence, now, marks, ms until another is due, counted, calls, mailbox, state, messages}, of the
-- calls those that are out, of the marks those of their routes (ROUTE, MARK in turn), of the mailbox (PLACE, MESSAGE in
-- turn) nothing unless it listens; `counted`: {commit, cancel, pause, paused, dropped}; the last two of one that nobody has held
-- before: who held it last knows them. Or {released, false, ms until one is due or -1}.
local due, only, now = KEYS[1], ARGV[8], now_ms()
local lease_ms, tenant_slots, queue = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local id

if only then
  local at = redis.call('ZSCORE', due, only)
  if at and tonumber(at) <= now then wake(due, only) end
  if not_ready(due, tenant_of(state_key(only)), only) then id = only end
else
  for _, woken in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 64)) do wake(due, woken) end
  id = take(ready_queue(due), tenant_slots > 0 and function(tenant)
    return redis.call('ZCOUNT', held_by(due, tenant), now, '+inf') < tenant_slots
  end)
end

local function ms_until_due()
  local at = only and redis.call('ZSCORE', due, only) or not only and redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
  return at and math.max(0, math.ceil(tonumber(at) - now))
end

-- Where nothing is ready any more, nothing rings: what has rung is answered.
local idle = not only and surely_empty(ready_queue(due))
if idle then redis.call('DEL', KEYS[2]) end

if not id then
  return {release(queue, ARGV[4], tonumber(ARGV[5])), false, ms_until_due() or -1}
end
local idle_ms = idle and (ms_until_due() or lease_ms) or 0
local state, calls = state_key(id), calls_key(id)
local kept = redis.call('HMGET', state, 'out', 'state', 'children', 'asking', 'listening', 'posting',
  'leaving', 'ending')
local out, children, asking, posting = kept[1], (kept[3] or '') .. ',' .. (kept[7] or ''), kept[4] or '', kept[6] or ''
if not out then return {{}, false, 0} end
-- A newer version wrote it.
local format = string.match(kept[2], '^{"format":(%d+)')
if format and tonumber(format) > tonumber(ARGV[6]) then
  redis.call('ZADD', due, now + tonumber(ARGV[7]), id)
  return {{}, false, 0}
end
redis.call('ZADD', due, now + lease_ms, id)
if tenant_slots > 0 and not ended(state) then holds(due, tenant_of(state), id, lease_ms) end
local fence = redis.call('HINCRBY', state, 'fence', 1)
redis.call('HSET', state, 'held', fence)

local marks = {}
if out ~= '' and not all_in(out, calls) then
  for _, route in ipairs(heal(queue, state, id)) do
    marks[#marks + 1] = route
    marks[#marks + 1] = redis.call('GET', queue_of(queue, route) .. MARK) or '0'
  end
end
local released = release(queue, ARGV[4], tonumber(ARGV[5]))
if kept[8] then hear_of_ends(id, kept[7] or '') end
local records = records_of(calls, {out, children, asking, posting})
local mailbox = (kept[5] or '') ~= '' and unexpired_mail(id) or {}
local counted = redis.call('HMGET', state, 'commit', 'cancel', 'pause', 'paused', 'dropped')
for i = 1, 5 do counted[i] = counted[i] or '' end
local answer = {released, id, fence, now, marks, idle_ms, counted, records, mailbox}
if fence == 1 then
  answer[10], answer[11] = redis.call('HGETALL', state), {}
  for _, entry in ipairs(redis.call('XRANGE', events_key(id), '-', '+')) do
    local told = {}
    for i = 1, #entry[2], 2 do told[entry[2][i]] = entry[2][i + 1] end
    if told.type == 'message' then table.insert(answer[11], told.data) end
  end
end
return answer
