-- switched_off: whether a user wants nothing, or no messages of a category.
--
-- The settings are read again, whatever Go used: what a person has switched off is never sent. Most
-- users have none.
local off_known, off_blocked, off_categories -- the fields "blocked" and "out" of the settings, after they were read

-- switched_off returns why a user gets no message of a category, nil for none: "blocked" or
-- "opted_out"; nil if the user gets it. own is the key of the user's settings; settings is ARGV[2],
-- see judge/arguments.lua.
local function switched_off(own, settings, category)
  if settings == '-' then return nil end
  if not off_known then
    off_known = true
    if redis.call('EXISTS', own) == 1 then
      local fields = redis.call('HMGET', own, 'blocked', 'out')
      off_blocked, off_categories = fields[1], fields[2]
    end
  end
  if off_blocked then return 'blocked' end
  if not off_categories or not category then return nil end
  return string.find(off_categories, ' ' .. category .. ' ', 1, true) and 'opted_out' or nil
end
