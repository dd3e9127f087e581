-- moves: which moves of a message are counted. Needs now.
local MINUTE = 60000 -- ms in which moves are counted, from the first of them on

-- costs_queue reports whether a move from one time to another, Unix ms, needs the queue: beyond the
-- horizon, ms, no message is in it.
local function costs_queue(from, to, horizon) return math.min(from, to) - now <= horizon end
