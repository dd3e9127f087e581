-- Redis runs Lua 5.1. What the embedded store lacks (bit, struct, cmsgpack) is
-- left out on purpose: a script that uses it would not run there.
std = "lua51"
read_globals = { "KEYS", "ARGV", "redis", "cjson" }
