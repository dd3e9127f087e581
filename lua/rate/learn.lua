-- rate/learn.lua: learns how fast a target accepts calls: slower after a refusal, faster with use.
--
-- KEYS[1]  learned rate (STRING: six whole numbers with spaces between: generation, when it last
--          changed, Unix ms; the refused rate and the rate after that refusal, calls in 1000
--          seconds; how long the rate was used up since, ms; how long that takes to reach the
--          refused rate, ms). It expires an hour after the last change.
-- ARGV[1]  now, Unix ms; "" for the server's clock
-- ARGV[2]  generation under which a call began that was refused, 0 for none; "" after a use
-- ARGV[3]  calls of this process in the last second before a refusal
-- ARGV[4]  pause that the target asked for, ms
--
-- A refusal of the current generation lowers the rate, and begins the next generation. Others are
-- of calls that began before the rate was lowered: they change nothing. Processes that were refused
-- before any rate was known add their calls to the first one.
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
local LONGEST_STEP = 2000 -- ms: workers report a use about once a second
local SHORTEST_SPAN, LONGEST_SPAN, PAUSES = 20000, 600000, 20 -- ms; a pause costs at most 1/PAUSES

local known, numbers = redis.call('GET', KEYS[1]), {}
for word in string.gmatch(known or '', '%d+') do numbers[#numbers + 1] = tonumber(word) end
local generation, at, refused, from, used, span = unpack(numbers)

local function bounded(rate) return math.floor(math.min(math.max(rate, SLOWEST), FASTEST)) end

-- rate_now follows CUBIC: fast at first, slow near the refused rate, then faster and faster.
local function rate_now() return bounded(refused - (refused - from) * (1 - used / span) ^ 3) end

if ARGV[2] == '' then
  if not known then return {now, ''} end
  used, at = used + math.min(math.max(now - at, 0), LONGEST_STEP), now
else
  local calls, pause = ARGV[3] * 1000, tonumber(ARGV[4])
  if not known then
    generation, refused, span = 1, bounded(calls), SHORTEST_SPAN
    from, at, used = bounded(refused / 2), now, 0
  elseif ARGV[2] == '0' and generation == 1 and used < SOON then
    refused = bounded(refused + calls)
    from = bounded(refused / 2)
  elseif tonumber(ARGV[2]) == generation then
    refused = rate_now()
    from = bounded(refused * (used < SOON and 0.5 or 0.9))
    generation, at, used = generation + 1, now, 0
    span = math.min(math.max(SHORTEST_SPAN, PAUSES * pause), LONGEST_SPAN)
  else
    return {now, known}
  end
end
known = table.concat({generation, at, refused, from, used, span}, ' ') -- whole numbers below 10^13
redis.call('SET', KEYS[1], known, 'PX', STAYS)
return {now, known}
