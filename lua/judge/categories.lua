-- categories: the rules of a category that the script itself finds.
--@include judge/rules

-- rules_in returns the rules for a category, false or "" for none: the overall ones, and its own in
-- categories.
local function rules_in(words, categories, category)
  local own
  for name, entry in string.gmatch(categories, '([^=,]+)=([^,]+)') do
    if name == category then own = entry end
  end
  if not own then return rules_of(words, '') end
  if string.byte(own) == 33 then
    local rules = rules_of('', own)
    rules.name = category
    return rules
  end
  local rules = rules_of(words .. ' ' .. own, '')
  rules.overall, rules.category = rules_of(words, '').count, category
  return rules
end
