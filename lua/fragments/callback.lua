-- callback: the state of an account's callback, a HASH.
--
--   c  id of the last event that was posted or became dead
--   m  how many events were appended up to that one
--   o  nonce of the worker that has the turn
--   v  when its lease ends, Unix ms
--   r  when the next request may be made, Unix ms
--   a  failed attempts since the last success
--   f  since when all of them failed, Unix ms
--   s  when the last request succeeded, Unix ms
--   l  when the last one failed, Unix ms
--   w  why it failed, a word
--   g  events that were removed before they were posted
local is_after
do
  local function parts(id)
    local ms, number = string.match(id, '^(%d+)%-(%d+)$')
    return tonumber(ms or -1), tonumber(number or -1)
  end
  -- is_after reports whether an id of a stream comes after another.
  is_after = function(id, other)
    local ms, number = parts(id)
    local other_ms, other_number = parts(other)
    return ms > other_ms or ms == other_ms and number > other_number
  end
end
