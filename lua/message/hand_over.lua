-- message/hand_over.lua: decides which due entries of a watch list go into the queue now.
--
-- A message goes into the queue the horizon before its time, under its present generation, so that
-- a repeated hand-over does no harm. Its entry is due again after a delay, in case the caller ends
-- before the queue has it.
--
-- KEYS[1]  near list of the partition (ZSET: watch member -> when to check, Unix ms)
-- KEYS[2..] records of the messages (HASH, see fragments/record.lua)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  delay of the watch entry, ms
-- ARGV[3]  horizon, ms: how long before its time a message is handed over
-- ARGV[4..] watch members, in the order of the records
--
-- Returns  {now, result, due, account, campaign, ...}, four words a record, in their order.
--          account and campaign are "" for none, and except with HANDED. The results:
--          HANDED      put a task of this generation into the queue, for the time due
--          GONE        the message ended or has another generation
--          UNFINISHED  the message ended, but the script that ended it is incomplete: see
--                      message/mend.lua
--          LOOK_AFTER  the queue has it already, or a worker has: see message/renew.lua
--          NOT_DUE     the entry is not due yet; due is 0 except with HANDED
-- Cost     O(k log n) for k messages, with n entries in the partition's watch list.

if #KEYS < 2 or #ARGV ~= #KEYS + 2 then
  return redis.error_reply('ERR message/hand_over.lua: wrong number of keys or arguments')
end
--@include moving

local watch, horizon = KEYS[1], tonumber(ARGV[3])
local HANDED, GONE, LOOK_AFTER, NOT_DUE, UNFINISHED = 0, 1, 2, 3, 4
--@include clock
--@include record

-- hand_over decides about one entry, and returns the result, when the message is due, its account
-- and its campaign.
local function hand_over(record, member)
  local r = redis.call('HMGET', record, 's', 'g', 't', 'a', 'y', 'C')
  local state = state_of(r[1], r[2])
  if r[2] ~= string.match(member, '^[^/]*') then
    redis.call('ZREM', watch, member)
    return GONE, 0
  end
  if state ~= PENDING and state ~= SENDING then return UNFINISHED, 0 end
  local look = tonumber(redis.call('ZSCORE', watch, member) or now)
  if look > now then return NOT_DUE, 0 end
  local due = tonumber(r[4] or r[3])
  -- The entry of a message that the queue has confirmed is due after the message.
  if state == SENDING or look > due then return LOOK_AFTER, 0 end
  if due - horizon > now then -- entered under another horizon
    redis.call('ZADD', watch, due - horizon, member)
    return NOT_DUE, 0
  end
  redis.call('ZADD', watch, now + ARGV[2], member)
  return HANDED, due, account_of(r[5]), r[6]
end

local records, members, reply = {unpack(KEYS, 2)}, {unpack(ARGV, 4)}, {now}
for k = 1, #records do
  local result, due, account, campaign = hand_over(records[k], members[k])
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = result, due, account or '', campaign or ''
end
return reply
