-- switched_off: whether a user wants nothing, or no messages of a category.
--
-- The settings are read again, whatever Go used: what a person has switched off is never sent.
local off_blocked, off_categories -- the fields "blocked" and "out" of the settings, after they were read

-- switched_off returns why the user of a timeline gets no message of a category, nil for none:
-- "blocked" or "opted_out"; nil if the user gets it. settings is ARGV[2], see judge/arguments.lua.
local function switched_off(timeline, settings, category)
  if settings == '-' then return nil end
  if off_blocked == nil then
    local own = redis.call('HMGET', (string.gsub(timeline, '^([^}]*}:)u:', '%1o:', 1)), 'blocked', 'out')
    off_blocked, off_categories = own[1], own[2]
  end
  if off_blocked then return 'blocked' end
  if not off_categories or not category then return nil end
  return string.find(off_categories, ' ' .. category .. ' ', 1, true) and 'opted_out' or nil
end
