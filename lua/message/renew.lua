-- message/renew.lua: checks a message whose entry in the watch list is due.
--
-- If the queue may have lost the message's task, the message gets a new generation: if the old task
-- appears after all, it does nothing. So does a message whose worker stopped during a delivery; the
-- gate decides about it.
--
-- KEYS[1]  record of the message (HASH, see fragments/record.lua)
-- KEYS[2]  near list of the partition (ZSET: watch member -> when to check, Unix ms)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation of the watch entry
-- ARGV[3]  end of the watch member, see keyspace.WatchSuffix
-- ARGV[4]  new generation
-- ARGV[5]  1 if the queue has a task of the generation that will run, else 0
-- ARGV[6]  delay of the watch entry of a new generation, ms
-- ARGV[7]  if the queue has the task: how long after its due time, or after now if that
--          is past, the relay checks again, ms
--
-- Returns  {RENEWED, now, due, account, campaign}  put a task of the new generation into the
--                               queue; account and campaign are "" for none
--          {GONE, now}          the message ended or has another generation
--          {DEFERRED, now}      the queue or a worker has it: check again later
--          {NOT_DUE, now}       the entry is not due yet
-- Cost     O(log n) in the partition's watch list.

if #KEYS ~= 2 or #ARGV ~= 7 then
  return redis.error_reply('ERR message/renew.lua: wrong number of keys or arguments')
end
--@include moving

local record, watch = KEYS[1], KEYS[2]
local member, new = ARGV[2] .. ARGV[3], ARGV[4]
local RENEWED, GONE, DEFERRED, NOT_DUE = 0, 1, 2, 3
--@include clock
--@include record

local r = redis.call('HMGET', record, 's', 'g', 't', 'a', 'u', 'y', 'C')
local state = state_of(r[1], r[2])
local open = state == PENDING or state == SENDING
local due = state == PENDING and tonumber(r[4] or r[3]) or now
if open and r[2] == new then return {RENEWED, now, due, account_of(r[6]), r[7] or ''} end -- the same call, repeated
if not open or r[2] ~= ARGV[2] then
  redis.call('ZREM', watch, member)
  return {GONE, now}
end

local look = tonumber(redis.call('ZSCORE', watch, member) or now)
if look > now then return {NOT_DUE, now} end
if state == SENDING and now < tonumber(r[5]) then
  redis.call('ZADD', watch, r[5], member)
  return {DEFERRED, now}
end
if state == PENDING and ARGV[5] == '1' then
  redis.call('ZADD', watch, math.max(now, due) + ARGV[7], member)
  return {DEFERRED, now}
end

redis.call('ZADD', watch, now + ARGV[6], new .. ARGV[3])
redis.call('HSET', record, 'g', new)
redis.call('ZREM', watch, member)
return {RENEWED, now, due, account_of(r[6]), r[7] or ''}
