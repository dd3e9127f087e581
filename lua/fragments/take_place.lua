-- take_place: takes a place that is free for a new message.
--
-- Needs KEYS and ARGV as place/reserve.lua has them, the locals timeline, record, places, id and
-- asked, and later (whether there are other places) and outlived (whether one of them outlives this
-- one). A new timeline has no expiry. Defines taken, nil if the id has a place already.
local taken = call('ZADD', timeline, 'NX', ARGV[11], id) == 1
if taken then
  if not outlived and call('PEXPIREAT', timeline, ARGV[14], 'GT') == 0 and not later then
    call('PEXPIREAT', timeline, ARGV[14], 'NX')
  end
  if record then
    add_entry(KEYS[4], KEYS[5], asked - ARGV[20], ARGV[19], ARGV[21])
    local member = string.sub(ARGV[21], #ARGV[27] + 1) -- without the generation
    if ARGV[24] ~= '' then add_found(KEYS[6], KEYS[7], ARGV[24], member) end
    if ARGV[25] ~= '' then add_found(KEYS[8], KEYS[9], ARGV[25], member) end
  end
  if places then
    call('ZADD', places, ARGV[11], id)
    if call('PEXPIREAT', places, ARGV[14], 'GT') == 0 then call('PEXPIREAT', places, ARGV[14], 'NX') end
  end
  -- The record last: if the log is torn before, the relay finds the entry without a record.
  if record then call('HSET', record, 'A', now, unpack(ARGV, 26)) end
end
