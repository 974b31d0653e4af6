-- What a child conversation does is a call of its parent's, but no worker's: it stands in `children`, not in `out`; and,
-- while calls that are out wait for the child, in `awaits`.
local function awaits_child(state, key)
  return not ended(state) and listed(redis.call('HGET', state, 'children') or '', key)
end

local function tell_of_child(id, key, child, status)
  tell(state_key(id), events_key(id), 'child', cjson.encode({key = key, child = child, status = status}))
end

-- Whether the child may begin: its parent still wants it. With a parent that is paused, it is too.
local function begin_child(call, child)
  local id, key = parts_of(call)
  if not awaits_child(state_key(id), key) then return false end
  redis.call('HSET', calls_key(id), key .. ':begun', child)
  tell_of_child(id, key, child, 'queued')
  if redis.call('HEXISTS', state_key(id), 'pause') == 1 then
    redis.call('HSET', state_key(child), 'pause', now_ms(), 'paused_with', '1')
  end
  return true
end

-- It has ended: its parent's call has come to this. Where a call waits for it, or the parent's own end, the parent is
-- due; where its model thinks meanwhile, to take it away would waste the reply. Of one that was told to end, what it has
-- used counts.
local function end_child(call, child, status, outcome)
  local id, key = parts_of(call)
  local state = state_key(id)
  local s = redis.call('HMGET', state, 'status', 'children', 'leaving', 'ending', 'fence', 'awaits')
  local leaves = listed(s[3] or '', key)
  if not s[1] or terminal(s[1]) or not (leaves or listed(s[2] or '', key)) then return end
  if redis.call('HSETNX', calls_key(id), key .. ':child', outcome) == 0 then return end
  tell_of_child(id, key, child, status)
  if leaves and not s[4] then return end
  -- Whoever holds the parent now has not seen it.
  redis.call('HSET', state, 'news', s[5])
  if s[4] or not s[6] or listed(s[6], key) then ring(id) end
end

-- Of one that is ending: what a release did not tell that knows nothing of that, and ended a child of it.
local function hear_of_ends(id, leaving)
  for key in string.gmatch(leaving, '[^,]+') do
    local child = redis.call('HGET', calls_key(id), key .. ':begun')
    local s = child and redis.call('HMGET', state_key(child), 'status', 'outcome')
    if s and (not s[1] or terminal(s[1])) then
      redis.call('HSETNX', calls_key(id), key .. ':child', s[2] or '{"status": "tool_error", "shown": ""}')
    end
  end
end

-- Of these keys, the children that have begun.
local function children_of(id, keys)
  local found = {}
  for key in string.gmatch(keys, '[^,]+') do
    local child = redis.call('HGET', calls_key(id), key .. ':begun')
    if child then found[#found + 1] = child end
  end
  return found
end

local function open_children(id)
  return children_of(id, redis.call('HGET', state_key(id), 'children') or '')
end

-- Ask for the end, of its children too; answers -1 unknown, 0 had ended, 1 asked.
local function ask_to_end(id)
  local state = state_key(id)
  if redis.call('EXISTS', state) == 0 then return -1 end
  if terminal(redis.call('HGET', state, 'status')) then return 0 end
  redis.call('HSET', state, 'cancel', '1')
  call_off(state, id)
  ring(id)
  for _, child in ipairs(open_children(id)) do ask_to_end(child) end
  return 1
end

local function end_children(id, children, wanted)
  local left = {}
  for key in string.gmatch(children, '[^,]+') do
    if not listed(wanted, key) then left[#left + 1] = key end
  end
  for _, child in ipairs(children_of(id, table.concat(left, ','))) do ask_to_end(child) end
end

-- Nothing of it is started from now on, nor of its children. `with`: it is paused because its parent is, and goes on
-- with it; what a person pauses goes on when a person says so.
local function pause_tree(id, with)
  local state = state_key(id)
  if ended(state) then return 0 end
  if redis.call('HSETNX', state, 'pause', now_ms()) == 1 then
    if with then redis.call('HSET', state, 'paused_with', '1') end
    -- Who waits for a model sees it with the next commit: to take the conversation away now would waste the reply.
    local s = redis.call('HMGET', state, 'status', 'out', 'awaits', 'children', 'listening')
    if s[1] ~= 'running' or s[2] ~= '' or (s[3] or s[4] or '') ~= '' or (s[5] or '') ~= '' then ring(id) end
  elseif not with then
    redis.call('HDEL', state, 'paused_with')
  end
  for _, child in ipairs(open_children(id)) do pause_tree(child, true) end
  return 1
end

local function resume_tree(id)
  local state = state_key(id)
  if ended(state) then return 0 end
  local since = redis.call('HGET', state, 'pause')
  if not since then return 1 end
  redis.call('HDEL', state, 'pause', 'paused_with')
  local rested = now_ms() - since
  redis.call('HINCRBY', state, 'paused', rested)
  if redis.call('HEXISTS', state, 'deadline') == 1 then redis.call('HINCRBY', state, 'deadline', rested) end
  ring(id)
  for _, child in ipairs(open_children(id)) do
    if redis.call('HEXISTS', state_key(child), 'paused_with') == 1 then resume_tree(child) end
  end
  return 1
end
