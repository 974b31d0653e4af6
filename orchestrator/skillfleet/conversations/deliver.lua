-- KEYS posted fleet  ARGV root sender recipient topic kind correlation ttl_s text system most kept_s posted_s [id key]
-- `text`: JSON of the message, but for its timestamp; `correlation` '': it has none; `recipient` '': it has a topic;
-- `id` and `key`: the call of the sender's. Answers what became of it, as JSON.
local root, sender, recipient, topic, kind, correlation = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local ttl_ms, text, system, most = tonumber(ARGV[7]) * 1000, stamped(ARGV[8]), ARGV[9], tonumber(ARGV[10])

local function to_hearers()
  local count, refused, heard, topics = 0, nil, {}, topics_key(root)
  for _, field in ipairs(redis.call('HKEYS', topics)) do
    local id, pattern = string.match(field, '^(.*) (.*)$')
    if not heard[id] and id ~= sender and fits_topic(pattern, topic) and not ended(state_key(id)) then
      heard[id] = true
      if has_room(id, most) then
        put_mail(id, text, ttl_ms)
        count = count + 1
      else
        refused = 'mailbox_full'
      end
    end
  end
  return count, count == 0 and refused or nil
end

-- A request is remembered for who is to answer it, until then.
local function has_room_for_request()
  local requests = requests_key(recipient)
  if redis.call('HLEN', requests) < most then return true end
  local waiting = redis.call('HGETALL', requests)
  for i = 1, #waiting, 2 do
    if tonumber(waiting[i + 1]) <= now_ms() then redis.call('HDEL', requests, waiting[i]) end
  end
  return redis.call('HLEN', requests) < most
end

local function note_request()
  redis.call('HSET', requests_key(recipient), sender .. ' ' .. correlation, now_ms() + ttl_ms)
  outlive(requests_key(recipient), ttl_ms)
end

local function to_recipient()
  local asked = recipient .. ' ' .. correlation
  local answers = correlation ~= '' and (kind == 'response' or kind == 'error')
  if not (in_tree(recipient, root) or (answers and recipient == system)) then return 0, 'unknown_recipient' end
  if recipient ~= system and ended(state_key(recipient)) then return 0, 'recipient_ended' end
  local until_ms = answers and tonumber(redis.call('HGET', requests_key(sender), asked) or 0)
  if answers and until_ms <= now_ms() then return 0, 'no_such_request' end
  if recipient ~= system then
    if not has_room(recipient, most) then return 0, 'mailbox_full' end
    if kind == 'request' and not has_room_for_request() then return 0, 'mailbox_full' end
    put_mail(recipient, text, ttl_ms)
  end
  if answers then redis.call('HDEL', requests_key(sender), asked) end
  if kind == 'request' then note_request() end
  return 1
end

local function delivered()
  if sender ~= system and not (in_tree(sender, root) and not ended(state_key(sender))) then
    return 0, 'unknown_sender'
  end
  if recipient == '' then return to_hearers() end
  return to_recipient()
end

local answer = redis.call('GET', KEYS[1])
if not answer then
  local to, refused = delivered()
  if not refused then
    local teller = sender
    if sender == system then teller = recipient == '' and root or recipient end
    tell_sent(teller, KEYS[2], text, tonumber(ARGV[11]))
  end
  answer = string.format('{"to": %d, "refused": %s}', to, refused and '"' .. refused .. '"' or 'null')
  redis.call('SET', KEYS[1], answer, 'EX', ARGV[12])
end
if ARGV[13] then note_posted(ARGV[13], ARGV[14], answer) end
return answer
