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
    local r = redis.call('HMGET', record, 'y', 'n', 'C', 'M', 'N', 'O', 'P', 'Q', 'R', 'S', 'T')
    local account = account_of(r[1])
    if not string.find(listening, ' * ', 1, true)
        and not string.find(listening, table.concat({' ', account, ' '}), 1, true) then
      return
    end
    local event = {'e', what, 'u', user, 'i', id, 'd', now}
    local function add(name, value)
      if value and value ~= '' then event[#event + 1], event[#event + 2] = name, value end
    end
    for k = 1, #details, 2 do add(details[k], details[k + 1]) end
    add('y', account)
    add('n', r[2] ~= '0' and r[2])
    add('C', r[3])
    local metadata = {}
    for k = 4, 11 do metadata[#metadata + 1] = r[k] or nil end
    add('M', table.concat(metadata))
    local events = table.concat({string.match(record, '^[^}]*}:'), 'events'})
    redis.call('XADD', events, 'MAXLEN', '~', MOST, '*', unpack(event))
    redis.call('PEXPIRE', events, string.match(listening, '^%d+'))
  end
end
