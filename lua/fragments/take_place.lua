-- take_place: takes a place that is free for a new message.
--
-- Needs KEYS and ARGV as place/reserve.lua has them, the locals timeline, record, places, id and
-- asked, and those of fragments/watched.lua and scores.lua. A new timeline has no expiry. Defines
-- taken, nil if the id has a place already.
local taken = call('ZADD', timeline, 'NX', ARGV[5], id) == 1
if taken then
  if call('PEXPIREAT', timeline, ARGV[9], 'GT') == 0 then call('PEXPIREAT', timeline, ARGV[9], 'NX') end
  if record then
    add_entry(letter, asked - horizon, look_after, ARGV[13] .. suffix)
    if id_score then add_found('ids', letter, id_score, suffix) end
    if campaign_score then add_found('camps', letter, campaign_score, suffix) end
  end
  if places then
    call('ZADD', places, ARGV[5], id)
    if call('PEXPIREAT', places, ARGV[9], 'GT') == 0 then call('PEXPIREAT', places, ARGV[9], 'NX') end
  end
  -- The record last: if the log is torn before, the relay finds the entry without a record.
  if record then
    call('HSET', record, 'A', now_text, 'g', ARGV[13], 'f', ARGV[14], 't', ARGV[5], unpack(ARGV, 15))
  end
end
