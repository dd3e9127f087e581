-- notice/claim.lua: claims an alert for one delivery.
--
-- A repeated call with the same nonce returns the same answer and a full lease: the caller has not
-- sent the alert yet. If a lease ends without a settlement, the next delivery takes the alert over
-- after a grace period, until too many deliveries did not settle.
--
-- KEYS[1]  alert (HASH, see fragments/outbox.lua)
-- KEYS[2]  outbox of the partition (ZSET: alert id -> when to check, Unix ms)
-- KEYS[3]  failed alerts of the partition (ZSET: alert id -> when it ended, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  alert id
-- ARGV[3]  nonce of this delivery
-- ARGV[4]  lease of this delivery, ms
-- ARGV[5]  maximum number of deliveries that did not settle: then the alert is given up
-- ARGV[6]  how long to keep an ended alert, and a waiting one that no worker claims, ms
-- ARGV[7]  grace period after the lease of another delivery, ms; 0 for none
--
-- Returns  {SEND, now, attempts with this one, 1 if taken over from a delivery that did not
--          settle else 0, used, limit, details, when it was first claimed, when a delivery
--          first failed and was to be tried again}; absent values are 0 or ""
--          {STALE, now}        it ended: nothing to do
--          {BUSY, now, until, 1 in the grace period after a lease else 0}  another
--                              delivery has it until its lease ends: call again
--          {EARLY, now, due}   it is not due yet
--          {DROPPED, now, reason, 1 if it is among the failed alerts else 0}
-- Cost     O(log n) in the partition's outbox and failed alerts.

if #KEYS ~= 3 or #ARGV ~= 7 then
  return redis.error_reply('ERR notice/claim.lua: wrong number of keys or arguments')
end
--@include moving

local notice, outbox, dead = KEYS[1], KEYS[2], KEYS[3]
local id, nonce, kept = ARGV[2], ARGV[3], tonumber(ARGV[6])
local SEND, STALE, BUSY, EARLY, DROP = 0, 1, 2, 3, 4
--@include clock
--@include dead
--@include outbox
--@include grace

-- The letters of alerts in the keys of their flags, see fragments/alert.lua.
local LETTERS = {account_quota = 'a', user_quota = 'u', event_limit = 'e'}

-- superseded reports whether the alert of a higher threshold of the same day, or of the same period
-- of an event, was delivered.
local function superseded()
  local kind, start, threshold, subject = string.match(id, '^([%l_]+)/(-?%d+)/(%d+)[@%d]*/(.+)$')
  local letter = LETTERS[kind or '']
  if not letter then return false end
  local prefix = string.sub(outbox, 1, #outbox - #'notices')
  local flag = redis.call('GET', prefix .. 'alert:' .. letter .. ':' .. subject .. ':' .. start)
  if not flag or tonumber(string.match(flag, '^%d+')) <= tonumber(threshold) then return false end
  return redis.call('HGET', prefix .. 'n:' .. table.concat({kind, start, flag, subject}, '/'), 'z') == DELIVERED
end

local r = redis.call('HMGET', notice, 'k', 'z', 'n', 'o', 'v', 'a', 'w', 'u', 'l', 'x', 'b', 't', 'c', 'f', 'y', 'e')
local kind, state, tries = r[1], r[2], tonumber(r[3] or 0)
if not kind then
  redis.call('ZREM', outbox, id)
  return {STALE, now}
end

local function hold(try, taken_over)
  local lease_end = now + ARGV[4]
  local first = tonumber(r[11] or now)
  redis.call('HSET', notice, 'z', SENDING, 'o', nonce, 'v', lease_end, 'n', try, 'b', first)
  if r[14] then redis.call('HDEL', notice, 'f', 'y') end
  redis.call('ZADD', outbox, lease_end, id)
  return {SEND, now, try, taken_over, tonumber(r[8] or 0), tonumber(r[9] or 0), r[10] or '', first,
    tonumber(r[12] or 0)}
end

local function give_up(how, reason)
  end_notice(how, kind, nonce, reason, kept)
  return {DROP, now, reason, how == FAILED and 1 or 0}
end

if not state then
  if r[4] == nonce then return {STALE, now} end -- this call follows its own settlement
  local due = tonumber(r[6] or now)
  if now < due then return {EARLY, now, due} end
  local look = tonumber(redis.call('ZSCORE', outbox, id) or now)
  if look <= now - kept then return give_up(DROPPED, 'expired') end
  if superseded() then return give_up(DROPPED, 'superseded') end
  return hold(tries + 1, 0)
elseif state == SENDING then
  if r[4] == nonce then return hold(tries, 0) end
  if now < tonumber(r[5]) then return {BUSY, now, tonumber(r[5]), 0} end
  local grace = grace_until(notice, 'f', 'y', {r[14], r[15]}, ARGV[7])
  if grace then return {BUSY, now, grace, 1} end
  if tonumber(r[13] or 0) + 1 >= tonumber(ARGV[5]) then return give_up(FAILED, 'uncertain') end
  redis.call('HINCRBY', notice, 'c', 1)
  return hold(tries + 1, 1)
elseif (state == FAILED or state == DROPPED) and r[4] == nonce and r[7] then
  return {DROP, now, r[7], state == FAILED and 1 or 0} -- a repeated call that gave it up
end
if redis.call('ZSCORE', outbox, id) then finish_end(r[16], kept) end
return {STALE, now}
