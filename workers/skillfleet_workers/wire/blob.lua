-- KEYS state blob  ARGV text ttl_s
-- The state lists the blobs of an open conversation: they are given an expiry with its end.
redis.call('SET', KEYS[2], ARGV[1])
local s = redis.call('HMGET', KEYS[1], 'status', 'blobs')
if (not s[1]) or terminal(s[1]) then
  redis.call('EXPIRE', KEYS[2], ARGV[2])
elseif not string.find(s[2] or '', KEYS[2], 1, true) then
  redis.call('HSET', KEYS[1], 'blobs', (s[2] or '') .. KEYS[2] .. '\n')
end
