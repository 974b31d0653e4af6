-- KEYS topics  ARGV id pattern root most [id key]
-- Answers what became of it, as JSON; `id` and `key`: the call that asks for it.
local id, heard = ARGV[1], ARGV[1] .. ' ' .. ARGV[2]

local function refusal()
  if not in_tree(id, ARGV[3]) then return 'unknown_recipient' end
  if ended(state_key(id)) then return 'recipient_ended' end
  if redis.call('HEXISTS', KEYS[1], heard) == 1 then return nil end
  local count = 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(field, 1, #id + 1) == id .. ' ' then count = count + 1 end
  end
  return count >= tonumber(ARGV[4]) and 'too_many_subscriptions' or nil
end

local answer = ARGV[5] and redis.call('HGET', calls_key(ARGV[5]), ARGV[6] .. ':posted')
if not answer then
  local refused = refusal()
  if not refused then redis.call('HSETNX', KEYS[1], heard, now_ms()) end
  answer = string.format('{"to": 0, "refused": %s}', refused and '"' .. refused .. '"' or 'null')
end
if ARGV[5] then note_posted(ARGV[5], ARGV[6], answer) end
return answer
