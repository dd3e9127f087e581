-- event/append.lua: appends events of a partition to those of an account, each once.
--
-- Several workers may gather the same events, and one may be killed between this call and the
-- one that removes them from the partition. So the last id appended is kept for each
-- partition, and what is not after it is skipped. The ids of a partition ascend.
--
-- KEYS[1]  events of the account (STREAM, see fragments/event.lua)
-- KEYS[2]  last id appended of each partition (HASH: partition -> id in its stream; n -> how
--          many events were appended in all)
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  partition
-- ARGV[3]  how many events are kept, about
-- ARGV[4]  how long an event is kept, ms
-- ARGV[5..] for each event its id in the partition's stream, then its fields, a JSON
--          array of names and values
--
-- Returns  {events appended}
-- Cost     O(n) in the events given.

if #KEYS ~= 2 or #ARGV < 6 or #ARGV % 2 ~= 0 then
  return redis.error_reply('ERR event/append.lua: wrong number of keys or arguments')
end
--@include moving

local events, last, partition = KEYS[1], KEYS[2], ARGV[2]
local most, kept = ARGV[3], tonumber(ARGV[4])
--@include clock

-- parts returns milliseconds and number of an id; those before all others for none.
local function parts(id)
  local ms, number = string.match(id or '', '^(%d+)%-(%d+)$')
  return tonumber(ms or -1), tonumber(number or -1)
end

local given, appended, latest = {unpack(ARGV, 5)}, 0, nil
local last_ms, last_number = parts(redis.call('HGET', last, partition))
for k = 1, #given, 2 do
  local ms, number = parts(given[k])
  if ms > last_ms or ms == last_ms and number > last_number then
    redis.call('XADD', events, 'MAXLEN', '~', most, '*', unpack(cjson.decode(given[k + 1])))
    last_ms, last_number, latest, appended = ms, number, given[k], appended + 1
  end
end
if latest then
  redis.call('HSET', last, partition, latest)
  redis.call('HINCRBY', last, 'n', appended)
  redis.call('XTRIM', events, 'MINID', '~', now - kept)
  redis.call('PEXPIRE', events, kept)
  redis.call('PEXPIRE', last, 2 * kept) -- longer than any event of a partition is kept
end
return {appended}
