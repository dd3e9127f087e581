-- setting/campaign_pause.lua: pauses a campaign.
--
-- KEYS[1]  paused campaigns (HASH: account/campaign -> since when, Unix ms; other fields have no /)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  account; "" for none
-- ARGV[3]  campaign
-- ARGV[4]  how many campaigns of an account may be paused at the same time
--
-- Returns  {1, since when} paused, by this call or before; {0, 0} too many are paused.
-- Cost     O(n) in the paused campaigns.

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR setting/campaign_pause.lua: wrong number of keys or arguments')
end
--@include clock
local own = ARGV[2] .. '/'
local campaign = ARGV[2] .. '/' .. ARGV[3]
local since = redis.call('HGET', KEYS[1], campaign)
if since then return {1, tonumber(since)} end
local paused, count = redis.call('HKEYS', KEYS[1]), 0
for k = 1, #paused do
  if string.sub(paused[k], 1, #own) == own then count = count + 1 end
end
if count >= tonumber(ARGV[4]) then return {0, 0} end
redis.call('HSET', KEYS[1], campaign, now)
return {1, now}
