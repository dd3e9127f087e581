-- event/append.lua: appends events of partitions to those of an account, each once.
--
-- Several workers may gather the same events, and a worker may be killed between this call and the
-- one that removes them from their partition. So the last appended id is kept for each partition,
-- and events up to it are skipped. The ids of a partition ascend.
--
-- KEYS[1]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[2]  last appended id of each partition (HASH: partition -> id in its stream; n -> number of
--          all appended events)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  number of events to keep, about
-- ARGV[3]  how long an event is kept, ms
-- ARGV[4..] for each event its id and partition, "1732000000000-0 42"; its field e; and its
--          other fields, a JSON array of names and values, "" for none
--
-- Returns  {events appended}
-- Cost     O(n) in the events given.

if #KEYS ~= 2 or #ARGV < 6 or #ARGV % 3 ~= 0 then
  return redis.error_reply('ERR event/append.lua: wrong number of keys or arguments')
end
--@include moving

local events, gathered = KEYS[1], KEYS[2]
local most, kept = ARGV[2], tonumber(ARGV[3])
--@include clock

-- The last ids are read in one call, and written in one.
local given, partitions, last = {unpack(ARGV, 4)}, {}, {}
for k = 1, #given, 3 do
  local partition = string.match(given[k], ' (%d+)$')
  if not last[partition] then last[partition], partitions[#partitions + 1] = true, partition end
end
local ids = redis.call('HMGET', gathered, unpack(partitions))
for k = 1, #partitions do
  local ms, number = string.match(ids[k] or '', '^(%d+)%-(%d+)$')
  last[partitions[k]] = {ms = tonumber(ms or -1), number = tonumber(number or -1)}
end

local changed, appended = {}, 0
for k = 1, #given, 3 do
  local id, partition = string.match(given[k], '^(%S+) (%d+)$')
  local ms, number = string.match(id, '^(%d+)%-(%d+)$')
  local before = last[partition]
  ms, number = tonumber(ms), tonumber(number)
  if ms > before.ms or ms == before.ms and number > before.number then
    local others = given[k + 2] ~= '' and cjson.decode(given[k + 2]) or {}
    redis.call('XADD', events, 'MAXLEN', '~', most, '*', 'e', given[k + 1], unpack(others))
    before.ms, before.number, changed[partition], appended = ms, number, id, appended + 1
  end
end
if appended > 0 then
  local fields = {}
  for partition, id in pairs(changed) do fields[#fields + 1], fields[#fields + 2] = partition, id end
  redis.call('HSET', gathered, unpack(fields))
  redis.call('HINCRBY', gathered, 'n', appended)
  redis.call('XTRIM', events, 'MINID', '~', now - kept)
  redis.call('PEXPIRE', events, kept)
  redis.call('PEXPIRE', gathered, 2 * kept) -- longer than events of a partition wait to be gathered
end
return {appended}
