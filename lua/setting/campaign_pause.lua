-- setting/campaign_pause.lua: pauses a campaign.
--
-- KEYS[1]  paused campaigns (HASH: account/campaign -> since when, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  account/campaign
-- ARGV[3]  how many campaigns may be paused at a time
--
-- Returns  {1, since when} paused, by this call or before; {0, 0} too many are.
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 3 then
  return redis.error_reply('ERR setting/campaign_pause.lua: wrong number of keys or arguments')
end
--@include clock
local since = redis.call('HGET', KEYS[1], ARGV[2])
if since then return {1, tonumber(since)} end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return {0, 0} end
redis.call('HSET', KEYS[1], ARGV[2], now)
return {1, now}
