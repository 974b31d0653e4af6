-- A call that a child conversation works on is out, but no worker's: it stands in `children`, not in `out`.
local function awaits_child(state, key)
  return not ended(state) and listed(redis.call('HGET', state, 'children') or '', key)
end

local function tell_of_child(id, key, child, status)
  tell(state_key(id), events_key(id), 'child', cjson.encode({key = key, child = child, status = status}))
end

-- Whether the child may begin: its parent still waits for it.
local function begin_child(call, child)
  local id, key = parts_of(call)
  if not awaits_child(state_key(id), key) then return false end
  redis.call('HSET', calls_key(id), key .. ':begun', child)
  tell_of_child(id, key, child, 'queued')
  return true
end

-- It has ended: its parent's call has come to this, and the parent is due.
local function end_child(call, child, status, outcome)
  local id, key = parts_of(call)
  local state = state_key(id)
  if not awaits_child(state, key) or redis.call('HSETNX', calls_key(id), key .. ':child', outcome) == 0 then return end
  tell_of_child(id, key, child, status)
  -- Whoever holds the parent now has not seen it.
  redis.call('HSET', state, 'news', redis.call('HGET', state, 'fence'))
  ring(id)
end

-- Ask for the end; answers -1 unknown, 0 had ended, 1 asked.
local function ask_to_end(id)
  local state = state_key(id)
  if redis.call('EXISTS', state) == 0 then return -1 end
  if terminal(redis.call('HGET', state, 'status')) then return 0 end
  redis.call('HSET', state, 'cancel', '1')
  call_off(state, id)
  ring(id)
  return 1
end

local function end_children(id, children, awaited)
  for key in string.gmatch(children, '[^,]+') do
    local child = not listed(awaited, key) and redis.call('HGET', calls_key(id), key .. ':begun')
    if child then ask_to_end(child) end
  end
end
