-- settings: whether what is set for the user is what Go went by.
--
--   settings  version of the settings that Go used, the field v of their HASH; ""
--             for a user for whom nothing is set. " b" follows where the user is
--             blocked. "-" alone where users' settings are not looked at.
--
-- Gives blocked.
local settings_version = string.match(settings, '^%S*')
local blocked = string.sub(settings, -2) == ' b'

-- settings_changed gives the answer where the settings under a key are others
-- than Go used: {SETTINGS_CHANGED, now, field, value, ...}; else nil.
local function settings_changed(key)
  if settings_version == '-' or (redis.call('HGET', key, 'v') or '') == settings_version then return nil end
  local answer = {SETTINGS_CHANGED, now}
  local fields = redis.call('HGETALL', key)
  for k = 1, #fields do answer[2 + k] = fields[k] end
  return answer
end
