local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- One entry of a conversation's event stream; its number has no gap.
local function tell(state, events, kind, data)
  local seq = redis.call('HINCRBY', state, 'seq', 1)
  redis.call('XADD', events, '*', 'seq', seq, 'at', now_ms(), 'type', kind, 'data', data)
end

local function terminal(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled' or status == 'expired'
end

-- Whether nothing new of it may be started: the answer is since when.
local function paused(state)
  return redis.call('HGET', state, 'pause')
end

-- Ended, or bound to: cancelled, or past its deadline, which waits for what is paused. What comes in from then on is
-- not wanted.
local function ended(state)
  local s = redis.call('HMGET', state, 'status', 'cancel', 'deadline')
  if (not s[1]) or s[2] == '1' or terminal(s[1]) then return true end
  return s[3] and now_ms() >= tonumber(s[3]) and not paused(state) or false
end

-- Whether the conversation still waits for this call.
local function is_out(state, call)
  if ended(state) then return false end
  local out = redis.call('HGET', state, 'out') or ''
  return string.find(',' .. out .. ',', ',' .. call .. ',', 1, true) ~= nil
end

-- Workers learn at once that the calls of a conversation are no longer wanted. Who misses it learns it with its
-- heartbeat.
local function call_off(state, id)
  local s = redis.call('HMGET', state, 'control', 'out')
  if s[1] and s[2] and s[2] ~= '' then redis.call('PUBLISH', s[1], id) end
end

-- Due now, and the doorbell: a short list that may be lost, so it must never grow. What only has to be ended
-- is due before all else: that takes no time, and frees what it holds.
local function ring(state, id)
  local k = redis.call('HMGET', state, 'due', 'bell')
  redis.call('ZADD', k[1], ended(state) and 0 or now_ms(), id)
  redis.call('LPUSH', k[2], id)
  redis.call('LTRIM', k[2], 0, 63)
  redis.call('EXPIRE', k[2], 60)
end

-- Whether every call that is out has its result.
local function all_in(state, calls)
  local out = redis.call('HGET', state, 'out') or ''
  for key in string.gmatch(out, '[^,]+') do
    if redis.call('HEXISTS', calls, key .. ':result') == 0 then return false end
  end
  return out ~= ''
end

-- One entry of a conversation's live stream, which forgets: its number is that of the event that it comes after.
-- The stream goes some time after its last entry, which is before its conversation goes.
local function tell_live(state, live, kind, data)
  redis.call('XADD', live, 'MAXLEN', '~', 1000, '*', 'seq', redis.call('HGET', state, 'seq'), 'at', now_ms(),
    'type', kind, 'data', data)
  redis.call('EXPIRE', live, 600)
end
