-- KEYS state calls events  ARGV call attempt kind('returned' or 'lost') told said
if not is_out(KEYS[1], ARGV[1]) then return 'ended' end
local call, kind = ARGV[1], ARGV[3]
local held = redis.call('HMGET', KEYS[2], call .. ':result', call .. ':attempt', call .. ':' .. kind)
if held[1] or held[2] ~= ARGV[2] then return 'duplicate' end
if held[3] ~= ARGV[2] then
  redis.call('HSET', KEYS[2], call .. ':' .. kind, ARGV[2], call .. ':said', ARGV[5])
  tell(KEYS[1], KEYS[3], kind, ARGV[4])
  -- Whoever holds the conversation now has not seen it.
  redis.call('HSET', KEYS[1], 'news', redis.call('HGET', KEYS[1], 'fence'))
  ring(id_of(KEYS[1]))
end
return 'handed_back'
