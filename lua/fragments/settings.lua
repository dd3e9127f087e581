-- settings: checks whether Go used the present settings of the user, and rules that are young
-- enough.
--
--   settings  version of the settings that Go used, the field v of their HASH; "" for a
--             user without settings; "-" if users' settings are ignored. " b" follows if
--             nothing is accepted: the user is blocked, or the policy refuses the category.
--
-- Defines blocked.
local settings_version = string.match(settings, '^%S*')
local blocked = string.sub(settings, -2) == ' b'

-- settings_changed returns {RULES_OLD, now} if the rules are too old to judge; {SETTINGS_CHANGED,
-- now, field, value, ...} if Go used other settings than those under a key; {OTHER_RULES, now, at}
-- if Go used rules that are not for the time `at`, nil for any; else nil.
local function settings_changed(key, at)
  if rules_until and now > rules_until then return {RULES_OLD, now} end
  if settings_version == '-' or (redis.call('HGET', key, 'v') or '') == settings_version then
    if at and (at < during_from or at >= during_till) then return {OTHER_RULES, now, at} end
    return nil
  end
  local answer = {SETTINGS_CHANGED, now}
  local fields = redis.call('HGETALL', key)
  for k = 1, #fields do answer[2 + k] = fields[k] end
  return answer
end
