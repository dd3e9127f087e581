-- place/check.lua: returns what place/reserve.lua would answer. Writes nothing.
--
-- KEYS[1]  timeline of the user (ZSET: message id -> send time, Unix ms); for
--          an uncounted message, the places beside it, see fragments/places.lua
-- KEYS[2]  settings of the user (HASH, see fragments/settings.lua)
-- KEYS[3]  record of the message (HASH, see fragments/record.lua); optional
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  message id
-- ARGV[5]  send time, Unix ms; "" for now
-- ARGV[6]  how the time may be chosen, see fragments/choice.lua
-- ARGV[7]  with KEYS[3]: fingerprint
-- ARGV[8]  with KEYS[3]: expiry that the caller set, Unix ms; "" for none
--
-- Returns  a decision, see judge/reply.lua; or
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua.
-- Cost     as reserve.lua.

if not (#KEYS == 2 and #ARGV == 6 or #KEYS == 3 and #ARGV == 8) then
  return redis.error_reply('ERR place/check.lua: wrong number of keys or arguments')
end
--@include moving

local timeline, record = KEYS[1], KEYS[3]
--@include clock
--@include judge/policy
local id, asked = ARGV[4], tonumber(ARGV[5]) or now
--@include choice

--@include status
--@include record
--@include settings

--@include judge/judge
--@include judge/reply
--@include judge/spread
--@include judge/reach
--@include known

local answer = settings_changed(KEYS[2], resume_at or math.max(asked, now))
  or known(asked, until_at, nil, ARGV[7], '')
if only_replaces and not answer and not replaced then return {NOT_FOUND, now, 0, 0} end
answer = answer or out_of_reach(asked) or expires_late(tonumber(ARGV[8] or ''), asked)
if answer then return answer end

-- allowed returns the answer for a time that is free.
local function allowed(at, requested, flags)
  if not replaced then return {ALLOWED, now, at, requested or 0, flags, 0} end
  return moved_often(at) or {ALLOWED, now, at, requested or 0, flags + REPLACED, replaced.at}
end

local at, requested = asked, nil
if asked < now then at, requested = now, asked end
if blocked then return {BLOCKED, now, at, requested or 0} end
local rules = rules_of(rule_words, scope_words)
exclude_lost_place()
local broken
if not resume_at then
  broken = violations(q, rules, at)
  if broken.free then return allowed(at, requested, 0) end
  if not until_at then return refusal(q, rules, at, requested, broken, is_alone) end
  if q.spent > q.work then return {SEARCH_ON, now, at} end
end

local last = math.min(until_at, now + reach)
local spread = read_spread(spread_words, at, last)
local free, resume = next_spread(q, rules, resume_at or at, last, spread)
if not resume and not free and q.spent > q.work / 2 and (resume_at or at) < last then resume = last end
if resume then return {SEARCH_ON, now, resume} end
if not free and spread and (spread.delays or resume_at) then return {SEARCH_ON, now, 0} end
if not free then return refusal(q, rules, at, requested, broken or violations(q, rules, at)) end
return allowed(free, asked, SHIFTED)
