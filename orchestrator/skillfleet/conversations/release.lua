-- KEYS queue  ARGV rooms look_ms; answers the calls that were given a place
return release(KEYS[1], ARGV[1], tonumber(ARGV[2]))
