-- rate/learn.lua: learns how fast a target accepts calls: slower after a refusal, faster with use.
--
-- KEYS[1]  learned rate (STRING: seven whole numbers with spaces between. The generation; the rate
--          and the refused one, calls in 1000 seconds; the rate after that refusal; when it was
--          last changed, Unix ms; for how long it was used up since the refusal, ms; how long that
--          takes to reach the refused rate, ms). It expires an hour after the last change.
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation under which a refused call began, 0 for none; "" if the rate was used up
-- ARGV[3]  calls of this process in the last second before a refusal
-- ARGV[4]  pause that the target asked for, ms
--
-- A refusal of the current generation lowers the rate, and begins the next generation. Others are
-- of calls that began before the rate was lowered: they change nothing. Processes that are refused
-- before they know of a rate add their calls to the first one.
--
-- Returns  {now, the learned rate as stored; "" if none is known}
-- Cost     O(1).

if #KEYS ~= 1 or #ARGV ~= 4 then
  return redis.error_reply('ERR rate/learn.lua: wrong number of keys or arguments')
end

--@include clock

local STAYS = 3600000 -- ms
local SLOWEST, FASTEST = 100, 100000000 -- calls in 1000 seconds
local SOON = 2000 -- ms: a rate that is refused within this time is much too fast
local LONGEST_USE = 2000 -- ms: processes report a use about once a second
local SHORTEST_SPAN, LONGEST_SPAN, PAUSES = 20000, 600000, 20 -- ms; pauses cost at most 1/PAUSES
local NEAR = 0.98 -- of the refused rate: the limit is below that
local FIRST_DOUBLES, DOUBLES = 1000, 5000 -- ms

local known, numbers = redis.call('GET', KEYS[1]), {}
for word in string.gmatch(known or '', '%d+') do numbers[#numbers + 1] = tonumber(word) end
local generation, rate, refused, from, at, used, span = unpack(numbers)

local function bounded(r) return math.floor(math.min(math.max(r, SLOWEST), FASTEST)) end

-- grown returns the rate after its use: doubled each second until the second refusal; then as CUBIC,
-- fast at first and slow just below the refused rate; and from 1.5 times the span on doubled again.
local function grown()
  if generation == 1 then return bounded(from * 2 ^ (used / FIRST_DOUBLES)) end
  local x, near = math.min(used / span, 1.5), refused * NEAR
  return bounded((near - (near - from) * (1 - x) ^ 3) * 2 ^ (math.max(0, used - 1.5 * span) / DOUBLES))
end

if ARGV[2] == '' then
  if not known then return {now, ''} end
  used, at = used + math.min(math.max(now - at, 0), LONGEST_USE), now
else
  local calls, early = ARGV[3] * 1000, known and used < SOON
  if not known then
    generation, refused, used, span = 1, bounded(calls), 0, SHORTEST_SPAN
    from = bounded(refused / 2)
  elseif ARGV[2] == '0' and generation == 1 and early then
    refused, from = bounded(refused + calls), bounded(from + calls / 2)
  elseif tonumber(ARGV[2]) == generation then
    refused = rate
    from = bounded(refused * (generation == 1 and 0.5 or early and 0.7 or 0.9))
    generation, used = generation + 1, 0
    span = math.min(math.max(SHORTEST_SPAN, PAUSES * ARGV[4]), LONGEST_SPAN)
  else
    return {now, known}
  end
  at = now
end
rate = grown()
known = table.concat({generation, rate, refused, from, at, used, span}, ' ') -- below 10^13 each
redis.call('SET', KEYS[1], known, 'PX', STAYS)
return {now, known}
