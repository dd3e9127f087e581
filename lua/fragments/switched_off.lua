-- switched_off: what a user has switched off, by settings that are read again, whatever Go used.
--
-- What a person has switched off is never sent. Most users have no settings.
-- off is nil before the settings were read, false without any; else it has blocked, categories, all,
-- quiet, disturb_from and zone.
local off

-- switched_off returns why a user gets no message of a category, nil for none: "blocked" or
-- "opted_out"; nil if the user gets it. It leaves out who opted out of all, see
-- fragments/wants_nothing.lua. own is the key of the user's settings; settings is ARGV[2], see
-- judge/arguments.lua.
local function switched_off(own, settings, category)
  if settings == '-' then return nil end
  if off == nil then
    off = redis.call('EXISTS', own) == 1
    if off then
      local fields = redis.call('HMGET', own, 'blocked', 'out', 'disturb', 'quiet', 'then', 'zone')
      off = {blocked = fields[1], categories = fields[2] or '', quiet = fields[5] ~= 'keep' and fields[4],
        disturb_from = tonumber(fields[3] or 0), zone = fields[6]}
      off.all = string.find(off.categories, ' all ', 1, true)
    end
  end
  if not off then return nil end
  if off.blocked then return 'blocked' end
  return category and string.find(off.categories, ' ' .. category .. ' ', 1, true) and 'opted_out' or nil
end
