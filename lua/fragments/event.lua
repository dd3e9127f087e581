-- event: notes a change of a message for those who listen to its account.
--
-- An event is an entry of a stream. An empty field is absent.
--
--   e  type: delivered, postponed, dropped, failed, uncertain, moved or cancelled
--   u  user
--   i  message id
--   y  account that was charged for the message
--   d  when it happened, Unix ms
--   t  send time, Unix ms; of postponed and moved, the new one
--   p  former send time, Unix ms; of postponed and moved
--   w  reason, as in the record
--   n  deliveries tried
--   v  the provider's id of a delivered message
--   C  campaign
--   M  metadata, JSON
--
-- The stream of the partition keeps events until a worker has gathered them, see
-- event/append.lua: for as long as events are kept, and at most about MOST.
local note_event
do
  local MOST = 10000

  -- note_event notes a change of a message that has just been made. `listening` is an
  -- argument of the script: "" if nobody listens; else how long events are kept, ms, then the
  -- accounts that somebody listens to, or "*" for all, each between spaces. details are
  -- names and values of the fields d, t, p, w and v.
  function note_event(listening, record, user, id, what, details)
    if listening == '' then return end
    local r = redis.call('HMGET', record, 'y', 'n', 'C', 'M')
    local account = account_of(r[1])
    if not string.find(listening, ' * ', 1, true)
        and not string.find(listening, table.concat({' ', account, ' '}), 1, true) then
      return
    end
    local event = {'e', what, 'u', user, 'i', id, 'd', now, 'y', account}
    local size = account == '' and 8 or 10
    for k = 1, #details, 2 do
      if details[k + 1] and details[k + 1] ~= '' then
        event[size + 1], event[size + 2], size = details[k], details[k + 1], size + 2
      end
    end
    if r[2] and r[2] ~= '0' then event[size + 1], event[size + 2], size = 'n', r[2], size + 2 end
    if r[3] then event[size + 1], event[size + 2], size = 'C', r[3], size + 2 end
    if r[4] then
      local metadata = redis.call('HMGET', record, 'M', 'N', 'O', 'P', 'Q', 'R', 'S', 'T')
      for k = 1, 8 do metadata[k] = metadata[k] or '' end
      event[size + 1], event[size + 2], size = 'M', table.concat(metadata), size + 2
    end
    local events = table.concat({string.match(record, '^[^}]*}:'), 'events'})
    redis.call('XADD', events, 'MAXLEN', '~', MOST, '*', unpack(event, 1, size))
    redis.call('PEXPIRE', events, string.match(listening, '^%d+'))
  end
end
