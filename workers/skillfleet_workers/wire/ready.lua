-- An open conversation stands in one of two: the timers `due`, by when it must be looked at; and, when that has come,
-- the fair queue of what is ready. What only has to be ended comes before all else: that takes no time, and frees
-- what it holds.
local function ready_queue(due)
  return due .. READY
end

local function not_ready(due, tenant, id)
  return withdraw(ready_queue(due), FIRST, id) or withdraw(ready_queue(due), tenant, id)
end

local function id_of(state)
  return string.match(state, '{(.-)}')
end

local function tenant_of(state)
  return redis.call('HGET', state, 'tenant') or DEFAULT_TENANT
end

-- From the timers to what is ready; answers its bell.
local function wake(due, id)
  local s = redis.call('HMGET', state_key(id), 'status', 'cancel', 'deadline', 'pause', 'tenant', 'priority', 'fence',
    'bell', 'due')
  due = due or s[9]
  redis.call('ZREM', due, id)
  if not s[1] then return end
  local queue, tenant = ready_queue(due), s[5] or DEFAULT_TENANT
  if bound(s[1], s[2], s[3], s[4]) then
    withdraw(queue, tenant, id)
    put(queue, FIRST, id, now_ms())
  else
    put(queue, tenant, id, rank(tonumber(s[6] or DEFAULT_PRIORITY), s[7] ~= '0'))
  end
  return s[8]
end

-- From what is ready to the timers, or from one time to another. Most often it is among the timers.
local function wait_until(due, tenant, id, at)
  if redis.call('ZADD', due, 'XX', 'CH', at, id) == 0 then
    not_ready(due, tenant, id)
    redis.call('ZADD', due, at, id)
  end
end

-- The doorbell: a short list that may be lost, so it must never grow.
local function ring_bell(bell, id)
  redis.call('LPUSH', bell, id)
  redis.call('LTRIM', bell, 0, 63)
  redis.call('EXPIRE', bell, 60)
end

-- Due now, and the doorbell.
local function ring(id)
  ring_bell(wake(nil, id), id)
end

-- How many of a tenant's conversations orchestrators hold: who is dead holds none once its leases have ended.
local function held_by(due, tenant)
  return due .. HELD .. tenant
end

local function holds(due, tenant, id, lease_ms)
  local held = held_by(due, tenant)
  redis.call('ZADD', held, now_ms() + lease_ms, id)
  redis.call('PEXPIRE', held, lease_ms)
end

local function holds_no_more(due, tenant, id, bell)
  redis.call('ZREM', held_by(due, tenant), id)
  if redis.call('EXISTS', ready_queue(due) .. ':' .. tenant) == 1 then ring_bell(bell, id) end
end
