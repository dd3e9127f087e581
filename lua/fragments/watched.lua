-- watched: reads the words of a call about the watch entry of its message.
--
-- Needs delays: the delay of the entry, the horizon, which is how long before its time a message is
-- handed over, and how long after its time one without its own expiry expires, ms: "10000 120000
-- 86400000"; and watch_word, see fragments/watch.lua. Without a record both are nil.
local letter, suffix, look_after, horizon, expire_after
if watch_word then
  letter, suffix = string.sub(watch_word, 1, 1), string.sub(watch_word, 2)
  look_after, horizon, expire_after = string.match(delays, '^(%d+) (%d+) (%d+)$')
end
