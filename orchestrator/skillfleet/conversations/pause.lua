-- KEYS state  ARGV id; answers -1 unknown, 0 had ended or is bound to, 1 asked
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
return pause_tree(ARGV[1], false)
