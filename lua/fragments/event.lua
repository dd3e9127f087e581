-- event: records a change of a message for listeners of its account.
--
-- An event is an entry of a stream, with these fields:
--
--   e  eleven lines: type, account, user, message id, when it happened, send time, former send
--      time, requested send time, deliveries tried, campaign, and the rest
--   M  metadata, opaque here; absent without any
--   W  the local time or window that was asked for, opaque here; absent without one
--
-- The type is delivered, postponed, dropped, failed, uncertain, moved, replaced or cancelled. Times
-- are Unix ms. Postponed, moved and replaced have the new send time, and only they have a former one. The rest is the
-- provider's id of a delivered message, else the reason as in the record: it may have any bytes,
-- including line breaks. No user, id or name has a line break. Parts that do not apply are empty
-- lines. One field costs Redis a third of ten fields.
--
-- The stream of the partition keeps events until a worker has gathered them, see event/append.lua,
-- but only as long as events are kept, and at most about MOST.
local note_event
do
  local MOST = '10000'

  -- text_of returns a time as text; a time that was read from a record is text already.
  local function text_of(time)
    return type(time) == 'number' and string.format('%.0f', time) or time or ''
  end

  -- note_event records a change of a message that has just been made. `listening` is an argument of
  -- the script: "" without listeners; else how long events are kept, ms, then the accounts with
  -- listeners, or "*" for all, each between spaces. `of` has the fields y, n, C, M, W and r of the
  -- record; nil reads them.
  function note_event(listening, record, of, user, id, kind, time, former, rest)
    if listening == '' then return end
    of = of or redis.call('HMGET', record, 'y', 'n', 'C', 'M', 'W', 'r')
    local account = account_of(of[1])
    if not string.find(listening, ' ' .. account .. ' ', 1, true) and not string.find(listening, ' * ', 1, true) then
      return
    end
    local start, kept = string.match(record, '^[^}]*}:'), string.match(listening, '^%d+')
    local attempt, campaign, reason = of[2] ~= '0' and of[2] or '', of[3] or '', rest or ''
    local event = table.concat({kind, account, user, id, text_of(now), text_of(time), text_of(former),
      text_of(of[6] ~= '0' and of[6]), attempt, campaign, reason}, '\n')
    local events, fields, metadata = start .. 'events', {'e', event}, metadata_of(record, of[4])
    if metadata ~= '' then fields[3], fields[4] = 'M', metadata end
    if of[5] then fields[#fields + 1], fields[#fields + 2] = 'W', of[5] end
    redis.call('XADD', events, 'MAXLEN', '~', MOST, '*', unpack(fields))
    redis.call('PEXPIRE', events, kept)
  end
end
