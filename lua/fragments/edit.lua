-- edit: changes content, metadata and expiry of a message.
--
-- An edit is in the last arguments of a script, the local `given`:
--
--   generation   field g of the record that the edit is based on
--   changes      field H of that record; 0 without one
--   what         "content", "metadata", "expires_at", "send_at" for the local time, and "time_zone"
--                for the local time if only the user's zone has changed, as far as they change, in
--                this order, joined by ", "; "" for nothing
--   expiry       the new expiry, Unix ms; "" for the default
--   field, value, ...  of the new content and metadata, and of the local time
--
-- The fingerprint stays: a repeated submit repeats the first one. Only the field E of the record
-- shows a PUT that the message is no longer as it asked. With "time_zone" it still is.
local EDITED = 22
local edit = given[1] and {generation = given[1], changes = given[2], what = given[3], expiry = tonumber(given[4])}

local function edits(what) return edit and string.find(edit.what, what, 1, true) ~= nil end

-- fits reports whether the edit is based on the record with the fields g and h. Without an edit,
-- every record fits.
local function fits(g, h)
  return not edit or g == edit.generation and (h or '0') == edit.changes
end

-- edited returns the expiry of a message after the edit.
local function edited(expiry)
  if edits('expires_at') then return edit.expiry end
  return expiry
end

-- make_edit makes the edit.
local function make_edit(record)
  if not edit or edit.what == '' then return end
  local long = edits('content') and redis.call('HSTRLEN', record, 'c') > 64
  -- All at once, with removed fields of the former content as empty: a torn log must not have parts
  -- of both.
  local fields, kept, gone = {unpack(given, 5)}, {}, {}
  local function leave_out(names)
    for name in string.gmatch(names, '.') do
      if not kept[name] and redis.call('HEXISTS', record, name) == 1 then
        fields[#fields + 1], fields[#fields + 2], gone[#gone + 1] = name, '', name
      end
    end
  end
  for k = 1, #fields, 2 do
    kept[fields[k]] = true
    if fields[k] == 'W' and fields[k + 1] == '' then gone[1] = 'W' end
  end
  if edits('content') then leave_out('c1234567') end
  if edits('metadata') then leave_out('MNOPQRST') end
  if edits('expires_at') and edit.expiry then
    fields[#fields + 1], fields[#fields + 2] = 'x', edit.expiry
  elseif edits('expires_at') then
    gone[#gone + 1] = 'x'
  end
  if not edits('time_zone') then fields[#fields + 1], fields[#fields + 2] = 'E', 1 end
  redis.call('HSET', record, unpack(fields))
  if #gone > 0 then redis.call('HDEL', record, unpack(gone)) end
  note_history(record, 'c', {reason = edit.what})
  if long and redis.call('HSTRLEN', record, 'c') <= 64 then write_anew(record) end
end
