-- spread: the free time of a shift that is spread after quiet times.
--
-- What shifts out of quiet times would all be sent in the first moment after them. With a spread,
-- each message waits after their end for its own delay: its key modulo the length of the spread, or
-- of the stretch until the next quiet time, or until the last time of the shift, whichever is
-- shortest. A stretch begins and ends where other rules apply, too.
--
--   spread   nil for none, or a table of
--     over   the length of the spread, ms
--     key    a number of the message, the same at every try
--     asked  the time that was asked for: quiet times that end later delay the shift
--     last   the last time of the shift
--     delays set by next_spread: whether a delay passed over a free time
--
-- A shift without a time in `delays` starts again without a spread.

-- read_spread reads the words "length key"; nil for "".
local function read_spread(words, from, last)
  local over, key = string.match(words, '(%d+) (%d+)')
  return over and {over = tonumber(over), key = tonumber(key), asked = from, last = last} or nil
end

-- next_spread is next_free upwards, with a spread.
local function next_spread(q, rules, from, last, spread)
  local t, resume = next_free(q, rules, from, 1, last)
  while t and spread and rules.quiet do
    local after = q.past_delay(rules.quiet, t, spread)
    if after == t then break end
    spread.delays = true
    if q.spent > q.work then return nil, after end
    t, resume = next_free(q, rules, after, 1, last)
  end
  return t, resume
end
