-- tokens_change: stores the parts in a bucket.
--
-- Needs fragments/tokens.lua.
local function keep()
  redis.call('HSET', KEYS[1], 'l', level, 'a', at, 'i', interval)
  redis.call('PEXPIREAT', KEYS[1], now + filled_to(full)) -- a full bucket expires at once
end
