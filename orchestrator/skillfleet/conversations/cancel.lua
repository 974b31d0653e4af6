-- ARGV id; answers -1 unknown, 0 had ended, 1 asked
return ask_to_end(ARGV[1])
