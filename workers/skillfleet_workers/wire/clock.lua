-- A script takes no time.
local script_began

local function now_ms()
  if not script_began then
    local t = redis.call('TIME')
    script_began = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return script_began
end

-- One entry of a conversation's event stream; its number has no gap.
local function tell(state, events, kind, data)
  local seq = redis.call('HINCRBY', state, 'seq', 1)
  redis.call('XADD', events, '*', 'seq', seq, 'at', now_ms(), 'type', kind, 'data', data)
end

local function terminal(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled' or status == 'expired'
end

-- Ended, or bound to: cancelled, or past its deadline, which waits for what is paused. What comes in from then on is
-- not wanted.
local function bound(status, cancel, deadline, pause)
  if (not status) or cancel == '1' or terminal(status) then return true end
  return deadline and not pause and now_ms() >= tonumber(deadline) or false
end

local function ended(state)
  local s = redis.call('HMGET', state, 'status', 'cancel', 'deadline', 'pause')
  return bound(s[1], s[2], s[3], s[4])
end

local function listed(keys, key)
  return string.find(',' .. keys .. ',', ',' .. key .. ',', 1, true) ~= nil
end

-- Whether a call (of `asking`: KEY=KIND, separated by commas) waits for a person.
local function asks(asking, key)
  return string.find(',' .. asking, ',' .. key .. '=', 1, true) ~= nil
end

-- Of the calls hash what is kept of these calls (lists of KEY, or of KEY=KIND, separated by commas), field and value in
-- turn: field by field, but for the calls of turns that have few others.
local function records_of(calls, lists)
  local keys, fields, found = {}, {}, {}
  for _, list in ipairs(lists) do
    for key in string.gmatch(list, '[^,]+') do keys[string.match(key, '^[^=]*')] = true end
  end
  for key in pairs(keys) do
    for name in string.gmatch(CALL_FIELDS, '%a+') do fields[#fields + 1] = key .. ':' .. name end
  end
  if #fields > 0 and #fields < math.min(4000, redis.call('HLEN', calls)) then
    for i, value in ipairs(redis.call('HMGET', calls, unpack(fields))) do
      if value then
        found[#found + 1] = fields[i]
        found[#found + 1] = value
      end
    end
  elseif #fields > 0 then
    local recorded = redis.call('HGETALL', calls)
    for i = 1, #recorded, 2 do
      if keys[string.match(recorded[i], '^[^:]*')] then
        found[#found + 1] = recorded[i]
        found[#found + 1] = recorded[i + 1]
      end
    end
  end
  return found
end

-- Whether the conversation still waits for this call.
local function is_out(state, call)
  if ended(state) then return false end
  return listed(redis.call('HGET', state, 'out') or '', call)
end

-- Workers learn at once that the calls of a conversation are no longer wanted. Who misses it learns it with its
-- heartbeat.
local function call_off(state, id)
  local s = redis.call('HMGET', state, 'control', 'out')
  if s[1] and s[2] and s[2] ~= '' then redis.call('PUBLISH', s[1], id) end
end

-- Whether all of these calls have their results.
local function all_in(out, calls)
  for key in string.gmatch(out, '[^,]+') do
    if redis.call('HEXISTS', calls, key .. ':result') == 0 then return false end
  end
  return out ~= ''
end

-- One entry of a conversation's live stream, which forgets: its number is that of the event that it comes after.
-- The stream goes some time after its last entry, which is before its conversation goes.
local function tell_live(state, live, kind, data)
  local most = LIVE_WORDS
  if kind == 'output' or kind == 'progress' then most = LIVE_ENTRIES end
  redis.call('XADD', live, 'MAXLEN', '~', most, '*', 'seq', redis.call('HGET', state, 'seq'), 'at', now_ms(),
    'type', kind, 'data', data)
  redis.call('EXPIRE', live, LIVE_S)
end
