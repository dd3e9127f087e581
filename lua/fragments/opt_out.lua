-- opt_out: categories that the user does not want.
--
-- The settings are read again, whatever Go used: a message that the user does not want is never
-- sent.
local unwanted_of -- the field "out" of the settings, after it was read

-- opted_out reports whether the user of a timeline does not want messages of a category, nil for
-- none. settings is ARGV[2], see judge/arguments.lua.
local function opted_out(timeline, settings, category)
  if not category or settings == '-' then return false end
  if unwanted_of == nil then
    unwanted_of = redis.call('HGET', (string.gsub(timeline, '^([^}]*}:)u:', '%1o:', 1)), 'out')
  end
  return unwanted_of and string.find(unwanted_of, ' ' .. category .. ' ', 1, true) ~= nil
end
