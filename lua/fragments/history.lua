-- history: records the changes of a message between its accept and its end.
--
-- The record's field H counts the changes. The last 16 are in the fields h0 to hf: change number n,
-- from 0, is in the field that ends with n modulo 16 in hex. A value is
--
--   letter at to from attempt reason
--
-- "." stands for a part that does not apply. The letter is one of
--
--   m  moved
--   e  replaced by another message with its id
--   c  content, metadata or expiry changed; the reason says which
--   p  postponed, or sent late; the reason is in the form of the field w
--   r  a delivery failed, to be tried again at `to`
--   o  taken over from a delivery that did not settle in time
--   f  ended as a dead letter that failed; u: as an uncertain one
--   v  a dead letter made pending again
--   w  waits for its paused campaign, until it expires at `to`; once per pause
--   g  continues after its campaign was resumed
--
-- at is Unix ms. to and from are send times after and before the change, in ms from `at`. A value
-- has at most 64 bytes, or it would prevent Redis' compact encoding of the record: a long reason is
-- cut. The fields A, s, e, w and i have when a message was accepted and how it ended.
local note_history
do
  local KEPT, LONGEST, DIGITS = 16, 64, '0123456789abcdef'

  local function word(number) return number and string.format('%.0f', number) or '.' end

  -- note_history records a change of the message whose record is under key. `change` has the parts
  -- of the value, as numbers and Unix ms; `at` is now by default. With n, the number of the change
  -- from 1, it writes nothing, and returns the field and its value.
  function note_history(key, letter, change, n)
    local at = change.at or now
    local reason = change.reason ~= '' and change.reason or '.'
    local digit = ((n or redis.call('HINCRBY', key, 'H', 1)) - 1) % KEPT + 1
    local value = table.concat({letter, word(at), word(change.to and change.to - at),
      word(change.from and change.from - at), word(change.attempt ~= 0 and change.attempt), reason}, ' ')
    local field, cut = table.concat({'h', string.sub(DIGITS, digit, digit)}), string.sub(value, 1, LONGEST)
    if n then return field, cut end
    redis.call('HSET', key, field, cut)
  end
end
