-- clock: now, Unix ms. It is the server's clock unless ARGV[1] is a time.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
