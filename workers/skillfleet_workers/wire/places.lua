-- Few calls stand in the tool queue that no worker has started: there nobody's turn counts. The others wait in a fair
-- queue. QUEUE:sent holds those that have a place, by when they got it, and so does KEY:sent in the calls hash.
-- A call that only some workers can run has a route, KEY:route, and each route of a BASE a queue of its own; ''
-- is the route of all others, and their queue the BASE itself.
local function call_of(id, key)
  return id .. '.' .. key
end

local function parts_of(call)
  return string.match(call, '^(.*)%.(%d+%.%d+)$')
end

local function queue_of(base, route)
  return route == '' and base or base .. '.' .. route
end

local function give_place(queue, id, key)
  local now = now_ms()
  redis.call('ZADD', queue .. SENT, now, call_of(id, key))
  redis.call('HSET', calls_key(id), key .. ':sent', now)
end

-- Of `rooms`, which is ROOM(,ROUTE=ROOM)*: that of a route which is not named is 0, for nobody serves it.
local function free_places(queue, rooms, route)
  local room
  if route == '' then
    room = string.match(rooms, '^%d+')
  else
    local _, before = string.find(rooms, ',' .. route .. '=', 1, true)
    room = before and string.match(rooms, '^%d+', before + 1) or 0
  end
  return tonumber(room) - redis.call('ZCARD', queue .. SENT)
end

local function wait_for_place(base, route, tenant, call, rank)
  put(queue_of(base, route) .. WAITING, tenant, call, rank)
  if route ~= '' then redis.call('SADD', base .. ROUTES, route) end
end

-- Of a route for which nobody waits any more nothing is left: routes come and go.
local function forget_route(base, route)
  local waiting = queue_of(base, route) .. WAITING
  local tenant = redis.call('ZRANGE', waiting, 0, 0)[1]
  while tenant do
    if redis.call('EXISTS', waiting .. ':' .. tenant) == 1 then return end
    redis.call('ZREM', waiting, tenant)
    tenant = redis.call('ZRANGE', waiting, 0, 0)[1]
  end
  redis.call('SREM', base .. ROUTES, route)
end

-- Neither has it a place nor waits for one any more.
local function vacate(base, route, tenant, id, key)
  local queue, call = queue_of(base, route), call_of(id, key)
  redis.call('ZREM', queue .. SENT, call)
  if redis.call('EXISTS', queue .. WAITING) == 1 then
    withdraw(queue .. WAITING, tenant, call)
    if route ~= '' then forget_route(base, route) end
  end
end

-- Its message has come: its place is free. Those that got theirs before it and still have it were overtaken. Where it
-- was the last, nobody waits, or the bell still rings for one that left before it.
local function leave_place(queue, bell, call, sent_ms)
  local sent, mark = queue .. SENT, queue .. MARK
  if redis.call('ZREM', sent, call) == 0 or redis.call('EXISTS', sent) == 0 then return end
  if sent_ms > tonumber(redis.call('GET', mark) or 0) then redis.call('SET', mark, sent_ms, 'EX', 3600) end
  if redis.call('EXISTS', queue .. WAITING) == 1 then ring_bell(bell, call) end
end

local function release_route(base, route, rooms, look_ms, own, released)
  local queue = queue_of(base, route)
  if redis.call('EXISTS', queue .. WAITING) == 0 then return end
  for _ = 1, free_places(queue, rooms, route) do
    local call = take(queue .. WAITING)
    if not call then break end
    local id, key = parts_of(call)
    local due = redis.call('HGET', state_key(id), 'due')
    if due then
      give_place(queue, id, key)
      if id ~= own then redis.call('ZADD', due, 'XX', 'LT', now_ms() + look_ms, id) end
      released[#released + 1] = call
    end
  end
end

-- Whose turn it is, as long as there are places. `own`: whose next look its commit decides itself; of the others
-- one is due when a lost hint can be told.
local function release(base, rooms, look_ms, own)
  local released = {}
  release_route(base, '', rooms, look_ms, own, released)
  if string.find(rooms, '=', 1, true) then
    for _, route in ipairs(redis.call('SMEMBERS', base .. ROUTES)) do
      release_route(base, route, rooms, look_ms, own, released)
      forget_route(base, route)
    end
  end
  return released
end

-- Notes the route of a call that is to be sent, and takes it out of the queue of the one that it had.
local function take_route(base, route, tenant, id, key)
  local calls = calls_key(id)
  local had = redis.call('HGET', calls, key .. ':route') or ''
  if had == route then return end
  vacate(base, had, tenant, id, key)
  redis.call('HDEL', calls, key .. ':sent', key .. ':route')
  if route ~= '' then redis.call('HSET', calls, key .. ':route', route) end
end

-- A call is to be sent; whether it has a place. One that had a place keeps it.
local function send(base, route, tenant, priority, id, key, again, rooms)
  local queue, call = queue_of(base, route), call_of(id, key)
  local has = again and redis.call('ZSCORE', queue .. SENT, call)
  if has or (redis.call('EXISTS', queue .. WAITING) == 0 and free_places(queue, rooms, route) > 0) then
    give_place(queue, id, key)
    return true
  end
  if again then redis.call('HDEL', calls_key(id), key .. ':sent') end
  wait_for_place(base, route, tenant, call, rank(priority, again))
  return false
end

-- A call that is out has a place, or waits for one, or was started: that an earlier release has sent it, or a fleet
-- that is gone, shows at the next look. Answers the routes of the calls that are out.
local function heal(base, state, id)
  local s, routes = redis.call('HMGET', state, 'out', 'queue', 'tenant', 'priority', 'status', 'pause'), {}
  if s[5] == 'paused' or s[6] or ended(state) then return routes end
  local tenant, seen = s[3] or DEFAULT_TENANT, {}
  for key in string.gmatch(s[1], '[^,]+') do
    local call = call_of(id, key)
    local record = redis.call('HMGET', calls_key(id), key .. ':sent', key .. ':result', key .. ':route')
    local route = record[3] or ''
    if not seen[route] then routes[#routes + 1], seen[route] = route, true end
    if s[2] and s[2] ~= base then vacate(s[2], route, tenant, id, key) end
    local waiting = queue_of(base, route) .. WAITING
    if not (record[1] or record[2] or redis.call('ZSCORE', waiting .. ':' .. tenant, call)) then
      wait_for_place(base, route, tenant, call, rank(tonumber(s[4] or DEFAULT_PRIORITY), true))
    end
  end
  if s[2] ~= base then redis.call('HSET', state, 'queue', base) end
  return routes
end
