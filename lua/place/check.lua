-- place/check.lua: says what reserve.lua would answer, and writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); of a
--          message that does not count, its places beside that, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  message id
-- ARGV[3]  send time, Unix ms; "" for now
-- ARGV[4]  largest window of the rules and the grace, ms: what is older is forgotten
-- ARGV[5]  reach of schedules, ms after now
-- ARGV[6]  last send time a shift may take, Unix ms; "" for no shift
-- ARGV[7]  where a shift goes on searching, Unix ms; "" to start at the send time
-- ARGV[8]  the rules, see fragments/policy.lua
-- ARGV[9]  the time zone's offsets, see fragments/zone.lua
-- ARGV[10] whose rules they are, see fragments/policy.lua
-- ARGV[11] the quiet hours, see fragments/quiet.lua
-- ARGV[12] the settings that Go used, see fragments/settings.lua
-- ARGV[13] with KEYS[3]: fingerprint
--
-- Returns  a decision, see fragments/decision.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     as reserve.lua.

if #KEYS < 2 or #KEYS > 3 or #ARGV ~= 10 + #KEYS then
  return redis.error_reply('ERR place/check.lua: wrong number of keys or arguments')
end

local timeline, record = KEYS[1], KEYS[3]
--@include clock
local asked = tonumber(ARGV[3]) or now
local keep, reach = tonumber(ARGV[4]), tonumber(ARGV[5])
local until_at = tonumber(ARGV[6])
local offsets, quiet, settings = ARGV[9], ARGV[11], ARGV[12]

--@include status
--@include record
--@include settings
--@include policy
--@include search
--@include decision
--@include known

local answer = settings_changed(KEYS[2]) or known(asked, until_at, nil, ARGV[13], '') or out_of_reach(asked)
if answer then return answer end

local at, requested = asked, nil
if asked < now then at, requested = now, asked end
if blocked then return {BLOCKED, now, at, requested or 0} end
local rules = rules_of(ARGV[8], ARGV[10])
local broken, near = violations(rules, at, nil)
if broken.free then return {ALLOWED, now, at, requested or 0, 0, 0} end
if not until_at then return refusal(rules, at, requested, broken, near, nil) end

local last = math.min(until_at, now + reach)
local resume_at = tonumber(ARGV[7])
local free, resume = new_search(rules, 1, resume_at or at, nil, not resume_at and near or nil)(last)
if resume then return {SEARCH_ON, now, resume} end
if not free then return refusal(rules, at, requested, broken, near, nil) end
return {ALLOWED, now, free, asked, SHIFTED, 0}
