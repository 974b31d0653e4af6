-- KEYS queue  ARGV room look_ms; answers the calls that were given a place
return release(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
