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

local function ended(state)
  local s = redis.call('HMGET', state, 'status', 'cancel')
  return (not s[1]) or s[2] == '1' or terminal(s[1])
end

-- Whether the conversation still waits for this call.
local function is_out(state, call)
  if ended(state) then return false end
  local out = redis.call('HGET', state, 'out') or ''
  return string.find(',' .. out .. ',', ',' .. call .. ',', 1, true) ~= nil
end

-- Due now, and the doorbell: a short list that may be lost, so it must never grow.
local function ring(state, id)
  local k = redis.call('HMGET', state, 'due', 'bell')
  redis.call('ZADD', k[1], now_ms(), id)
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
