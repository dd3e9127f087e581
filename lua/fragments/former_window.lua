-- former_window: the windows that policies had before they were changed, as a ZSET: for how
-- long a place counted, ms -> until when such a place still matters, Unix ms. The set expires
-- with the last.

-- note_former notes that places counted for `window` until now. 0 is for no window.
local function note_former(windows, window, now)
  redis.call('ZREMRANGEBYSCORE', windows, '-inf', now)
  if window == 0 then return end
  redis.call('ZADD', windows, 'GT', now + window, string.format('%.0f', window))
  redis.call('PEXPIREAT', windows, redis.call('ZRANGE', windows, -1, -1, 'WITHSCORES')[2])
end
