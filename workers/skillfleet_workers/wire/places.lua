-- Few calls stand in the tool queue that no worker has started: there nobody's turn counts. The others wait in a fair
-- queue. BASE:sent holds those that have a place, by when they got it, and so does KEY:sent in the calls hash.
local function call_of(id, key)
  return id .. '.' .. key
end

local function parts_of(call)
  return string.match(call, '^(.*)%.(%d+%.%d+)$')
end

local function give_place(base, id, key)
  local now = now_ms()
  redis.call('ZADD', base .. SENT, now, call_of(id, key))
  redis.call('HSET', calls_key(id), key .. ':sent', now)
end

local function free_places(base, room)
  return room - redis.call('ZCARD', base .. SENT)
end

-- Neither has it a place nor waits for one any more.
local function vacate(base, tenant, id, key)
  redis.call('ZREM', base .. SENT, call_of(id, key))
  if redis.call('EXISTS', base .. WAITING) == 1 then
    withdraw(base .. WAITING, tenant, call_of(id, key))
  end
end

-- Its message has come: its place is free. Those that got theirs before it and still have it were overtaken. Where it
-- was the last, nobody waits, or the bell still rings for one that left before it.
local function leave_place(base, bell, call, sent_ms)
  local sent, mark = base .. SENT, base .. MARK
  if redis.call('ZREM', sent, call) == 0 or redis.call('EXISTS', sent) == 0 then return end
  if sent_ms > tonumber(redis.call('GET', mark) or 0) then redis.call('SET', mark, sent_ms, 'EX', 3600) end
  if redis.call('EXISTS', base .. WAITING) == 1 then ring_bell(bell, call) end
end

-- Whose turn it is, as long as there are places. `own`: whose next look its commit decides itself; of the others
-- one is due when a lost hint can be told.
local function release(base, room, look_ms, own)
  local released = {}
  if redis.call('EXISTS', base .. WAITING) == 0 then return released end
  for _ = 1, free_places(base, room) do
    local call = take(base .. WAITING)
    if not call then break end
    local id, key = parts_of(call)
    local due = redis.call('HGET', state_key(id), 'due')
    if due then
      give_place(base, id, key)
      if id ~= own then redis.call('ZADD', due, 'XX', 'LT', now_ms() + look_ms, id) end
      released[#released + 1] = call
    end
  end
  return released
end

-- A call is to be sent; whether it has a place. One that had a place keeps it.
local function send(base, tenant, priority, id, key, again, room)
  local waiting, call = base .. WAITING, call_of(id, key)
  local has = again and redis.call('ZSCORE', base .. SENT, call)
  if has or (redis.call('EXISTS', waiting) == 0 and free_places(base, room) > 0) then
    give_place(base, id, key)
    return true
  end
  if again then redis.call('HDEL', calls_key(id), key .. ':sent') end
  put(waiting, tenant, call, rank(priority, again))
  return false
end

-- A call that is out has a place, or waits for one, or was started: that an earlier release has sent it, or a fleet
-- that is gone, shows at the next look.
local function heal(base, state, id)
  local s = redis.call('HMGET', state, 'out', 'queue', 'tenant', 'priority', 'status', 'pause')
  if s[5] == 'paused' or s[6] or ended(state) then return end
  local waiting, tenant = base .. WAITING, s[3] or DEFAULT_TENANT
  for key in string.gmatch(s[1], '[^,]+') do
    local call, record = call_of(id, key), redis.call('HMGET', calls_key(id), key .. ':sent', key .. ':result')
    if s[2] and s[2] ~= base then vacate(s[2], tenant, id, key) end
    if not (record[1] or record[2] or redis.call('ZSCORE', waiting .. ':' .. tenant, call)) then
      put(waiting, tenant, call, rank(tonumber(s[4] or DEFAULT_PRIORITY), true))
    end
  end
  if s[2] ~= base then redis.call('HSET', state, 'queue', base) end
end
