-- Messages between the conversations of one tree, which is named after the one at its top. A mailbox is a stream of
-- `expires` (ms since the epoch) and `message` (JSON); it goes with the last of what is in it, or with its conversation.
local function in_tree(id, root)
  local s = redis.call('HMGET', state_key(id), 'status', 'root')
  return s[1] and (s[2] or id) == root
end

local function outlive(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

-- Whoever holds it now has not seen this.
local function look_again(id)
  local state = state_key(id)
  redis.call('HSET', state, 'news', redis.call('HGET', state, 'fence'))
  ring(id)
end

-- What is in the mailbox, each with its place, in turn; what has expired goes.
local function unexpired_mail(id)
  local mailbox, found = mailbox_key(id), {}
  for _, entry in ipairs(redis.call('XRANGE', mailbox, '-', '+')) do
    if tonumber(entry[2][2]) > now_ms() then
      found[#found + 1] = entry[1]
      found[#found + 1] = entry[2][4]
    else
      redis.call('XDEL', mailbox, entry[1])
    end
  end
  return found
end

local function has_room(id, most)
  return redis.call('XLEN', mailbox_key(id)) < most or #unexpired_mail(id) / 2 < most
end

local function stamped(text)
  return string.sub(text, 1, -2) .. string.format(',"timestamp":%.3f}', now_ms() / 1000)
end

-- Who listens is due; who does not asks no sooner for it.
local function put_mail(id, text, ttl_ms)
  local mailbox = mailbox_key(id)
  redis.call('XADD', mailbox, '*', 'expires', now_ms() + ttl_ms, 'message', text)
  outlive(mailbox, ttl_ms)
  if (redis.call('HGET', state_key(id), 'listening') or '') ~= '' then look_again(id) end
end

-- Whether a call listens that did not (of `before`), while there is something to hear.
local function listens_anew(id, before)
  for key in string.gmatch(redis.call('HGET', state_key(id), 'listening') or '', '[^,]+') do
    if not listed(before, key) then return redis.call('XLEN', mailbox_key(id)) > 0 end
  end
  return false
end

-- In the stream of the conversation `id`, if it is open, and in the fleet's.
local function tell_sent(id, fleet, text, kept_s)
  local status = redis.call('HGET', state_key(id), 'status')
  if status and not terminal(status) then tell(state_key(id), events_key(id), 'sent', text) end
  redis.call('XADD', fleet, 'MAXLEN', '~', MESSAGES_KEPT, '*', 'message', text)
  redis.call('EXPIRE', fleet, kept_s)
end

-- What the sender's call has come to.
local function note_posted(id, key, answer)
  if not ended(state_key(id)) and redis.call('HSETNX', calls_key(id), key .. ':posted', answer) == 1 then
    look_again(id)
  end
end

-- `*` stands for one word, as the last one for one or more.
local function fits_topic(pattern, topic)
  local words, count, last = {}, 0, nil
  for word in string.gmatch(topic, '[^.]+') do words[#words + 1] = word end
  for word in string.gmatch(pattern, '[^.]+') do
    count, last = count + 1, word
    if not words[count] or (word ~= '*' and word ~= words[count]) then return false end
  end
  return count == #words or last == '*'
end

-- Of the form of a UUID of version 4.
local function uuid_of(text)
  local digest = redis.sha1hex(text)
  return string.format('%s-%s-4%s-a%s-%s', string.sub(digest, 1, 8), string.sub(digest, 9, 12),
    string.sub(digest, 14, 16), string.sub(digest, 18, 20), string.sub(digest, 21, 32))
end

-- Who waits for the answer of one that has ended is told, were its mailbox full. `orphaned`: JSON of the message, but
-- for whom it is to and what it answers.
local function end_mail(id, root, orphaned, fleet, kept_s)
  local requests = redis.call('HGETALL', requests_key(id))
  for i = 1, #requests, 2 do
    local requester, correlation = string.match(requests[i], '^(.*) (.*)$')
    local left_ms = tonumber(requests[i + 1]) - now_ms()
    if left_ms > 0 and not ended(state_key(requester)) then
      local ttl_s = math.max(60, math.ceil(left_ms / 1000))
      local text = stamped(string.sub(orphaned, 1, -2) .. string.format(
        ',"message_id":"%s","recipient_id":%s,"correlation_id":"%s","ttl":%d}',
        uuid_of(id .. ' ' .. requests[i]), cjson.encode(requester), correlation, ttl_s))
      put_mail(requester, text, ttl_s * 1000)
      tell_sent(requester, fleet, text, kept_s)
    end
  end
  local topics = topics_key(root)
  for _, heard in ipairs(redis.call('HKEYS', topics)) do
    if string.sub(heard, 1, #id + 1) == id .. ' ' then redis.call('HDEL', topics, heard) end
  end
  redis.call('DEL', mailbox_key(id), requests_key(id))
end
