-- KEYS (state live)*  ARGV (fence entries (kind data)*)*, one for each pair; answers for each 0 when the lease is lost,
-- or what comes in is not wanted
local answer, at = {}, 1
for k = 1, #KEYS, 2 do
  local last = at + 1 + 2 * ARGV[at + 1]
  if redis.call('HGET', KEYS[k], 'fence') ~= ARGV[at] or ended(KEYS[k]) then
    answer[#answer + 1] = 0
  else
    for i = at + 2, last, 2 do tell_live(KEYS[k], KEYS[k + 1], ARGV[i], ARGV[i + 1]) end
    answer[#answer + 1] = 1
  end
  at = last + 1
end
return answer
