-- message/revive.lua: makes a dead letter pending again, or returns why not.
--
-- The message gets a new generation, all its attempts, and the next time from now on that rules,
-- quiet hours and full days allow before it expires; in an exempt category that is now. A place
-- that it has kept does not count for it. For others it still counts, under another name: the
-- message may have arrived there. It is sent again to devices on which it failed or which it may
-- have reached, but not to devices that have it or are gone.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  timeline of the user (ZSET: message id -> send time, Unix ms)
-- KEYS[3]  dead letters of the partition (ZSET: dead-letter member -> when it ended, Unix ms)
-- ARGV[1..3] now, settings and policy, see judge/arguments.lua
-- ARGV[4]  message id
-- ARGV[5]  dead-letter member ("id/user")
-- ARGV[6]  new generation
-- ARGV[7]  watch word, see fragments/watch.lua
-- ARGV[8]  delays, see fragments/watched.lua
-- ARGV[9]  where the search for a free time continues, Unix ms; "" to start now
-- ARGV[10] accounts with listeners, see fragments/event.lua; "" for none
--
-- Returns  {ALLOWED, now, send time, requested time, 0, 0, id of a raised alert, if any}
--          {NOT_FOUND, now, 0, 0}       the message is no dead letter
--          {PAST_EXPIRY, now, 0, 0, expiry}
--          {BLOCKED, now, 0, 0}
--          {NO_FREE_TIME, now, 0, 0, expiry or 0}
--          {SEARCH_ON, now, where to continue}
--          {SETTINGS_CHANGED, ...}, see fragments/settings.lua
-- Cost     O(log n + m) in the user's n reservations, m of them from now until the
--          time found, at most q.work steps a call (judge/question.lua).

if #KEYS ~= 3 or #ARGV ~= 10 then
  return redis.error_reply('ERR message/revive.lua: wrong number of keys or arguments')
end
--@include moving

local record, timeline, dead = KEYS[1], KEYS[2], KEYS[3]
local id, generation, watch_word, delays = ARGV[4], ARGV[6], ARGV[7], ARGV[8]
local PAST_EXPIRY, NO_FREE_TIME = 8, 9
--@include clock
--@include judge/policy
--@include watched
--@include status
--@include record
--@include settings
--@include switched_off
--@include judge/category
--@include judge/judge
--@include judge/categories
--@include wants_nothing
--@include places
--@include former_place
--@include trim
--@include outlive
--@include user_alert
--@include watch
--@include content
--@include metadata
--@include event
--@include history

local r = redis.call('HMGET', record, 's', 'g', 't', 'p', 'r', 'x', 'e', 'k', 'z', 'n', 'w', 'D')
local state, expiry = state_of(r[1], r[2]), tonumber(r[6])
if r[2] == generation then -- the same call, repeated by a client without a reply
  return {ALLOWED, now, tonumber(r[3]), tonumber(r[5] or 0), 0, 0}
end
local died = tonumber(redis.call('ZSCORE', dead, ARGV[5]) or -1)
if state ~= FAILED and state ~= UNCERTAIN or tonumber(r[7]) ~= died then return {NOT_FOUND, now, 0, 0} end
if expiry and now >= expiry then return {PAST_EXPIRY, now, 0, 0, expiry} end
local own_settings = string.gsub(timeline, '^([^}]*}:)u:', '%1o:', 1)
local others = settings_changed(own_settings, tonumber(ARGV[9]) or now)
if others then return others end
if blocked then return {BLOCKED, now, 0, 0} end
if switched_off(own_settings, settings, r[8]) or wants_nothing(r[8]) then return {OPTED_OUT, now, 0, 0} end

local rules = rules_in(rule_words, scope_words, r[8])
local last = math.min(expiry and expiry - 1 or math.huge, now + reach)
q.excluded[id] = true
local free, resume = next_free(q, rules, tonumber(ARGV[9]) or now, 1, last)
if resume then return {SEARCH_ON, now, resume} end
if not free then return {NO_FREE_TIME, now, 0, 0, expiry or 0} end

local requested = tonumber(r[5] or r[4] or r[3])
add_entry(letter, free - horizon, look_after, generation .. suffix)
if state == UNCERTAIN and not r[9] and tonumber(r[3]) <= now then keep_former_place(r[8], r[3] + keep) end
put_place(record, id, free, r[9], rules.uncounted, r[8])
outlive(free, expiry or free + expire_after, rules.uncounted and beside or timeline, not rules.uncounted and r[8])
local notice
if not rules.uncounted then notice = alert_user(free) end
redis.call('HSET', record, 'g', generation, 't', free, 'r', requested)
redis.call('PERSIST', record) -- after that: the entry finds ended messages that do not expire
note_history(record, state, {at = died, attempt = tonumber(r[10]), reason = r[11]})
note_history(record, 'v', {to = free, from = tonumber(r[3])})
if state == UNCERTAIN then redis.call('HSET', record, 'q', 1) else redis.call('HDEL', record, 'q') end
redis.call('HDEL', record, 's', 'p', 'm', 'n', 'a', 'o', 'u', 'e', 'w', 'i', 'b')
if r[12] then
  local done = {}
  for device in string.gmatch(r[12], '%S+') do
    if string.find(device, '^[dg]') then done[#done + 1] = device end
  end
  redis.call('HDEL', record, 'D')
  if done[1] then redis.call('HSET', record, 'D', table.concat(done, ' ')) end
end
redis.call('ZREM', dead, ARGV[5])
local user = string.match(timeline, '^[^}]*}:u:(.*)$')
note_event(ARGV[10], record, nil, user, id, 'moved', free, r[3], 'retried')
return {ALLOWED, now, free, requested, 0, 0, notice}
