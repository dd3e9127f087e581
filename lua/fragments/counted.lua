-- counted: the counters of a call, first its event's, then its own.
--
-- Needs now, and KEYS[1], KEYS[2] and ARGV[3] to ARGV[6] as in count/count.lua.
-- An event is a HASH with the fields
--
--   c  limit and period of each of its counters, as in judge/rules.lua
--   z  IANA time zone; "" for UTC
--   a  percents that raise an alert, ascending, "80 100"; "" or absent for no alerts
--   t  contact for the alerts, an e-mail address or an https: URL; "" or absent for none
--
-- An event that does not exist has no counters. If its zone is not the zone of the given offsets,
-- the script returns {-2, now, zone of the event}. Defines counted, a list for
-- fragments/counters.lua; of_event, how many of them are the event's; and event, the fields c, z
-- and a of the event, {} for none.
local words, offsets = ARGV[3], ARGV[6]
local event = KEYS[2] and redis.call('HMGET', KEYS[2], 'c', 'z', 'a') or {}
if KEYS[2] then
  local zone = event[2] or ''
  if zone ~= ARGV[5] then return {-2, now, zone} end
  if event[1] then words = event[1] .. ' ' .. words end
end
--@include judge/zone
--@include judge/rules

local counter_names, natural = {}, {'minute', 'hour', 'day', 'week', 'month'}
for name in string.gmatch(ARGV[4], '%S+') do counter_names[#counter_names + 1] = name end
local rules = rules_of(words, '')
local counted, of_event = {}, rules.count - #counter_names
for i = 1, rules.count do
  local window = rules.windows[i]
  local name = counter_names[i - of_event] or natural[-window]
  local c = {index = i, limit = rules.limits[i], period = window}
  if window > 0 then
    c.length, c.key = window, KEYS[1] .. name .. ':w'
  else
    c.from, c.till = clocks_of_zone().period(-window, now)
    c.key = KEYS[1] .. name .. ':' .. string.format('%.0f', c.from)
  end
  counted[i] = c
end
