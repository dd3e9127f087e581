-- wants_nothing: whether a user opted out of all messages but those of exempt categories, see
-- fragments/switched_off.lua, which was called before. It needs the present settings: see
-- settings_changed in fragments/settings.lua.
--@include judge/question
--@include judge/quiet
local function wants_nothing(category)
  return off and off.all and not (category and string.find(q.wanted or '', ' ' .. category .. ' ', 1, true))
end
