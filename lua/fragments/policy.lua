-- policy: the rules that a message is judged by.
--
--   words       limit and window of each rule, in order: "1 60000 5 3600000 10 -3".
--               A window in ms slides; -1 to -5 is the natural minute, hour, day,
--               week, month.
--   scope       which messages they count: "" for all. "3 marketing": the first
--               three count all, the others only those of marketing, which may be none.
--               In a dry run a
--               third word follows, the start of the keys of the real records: they
--               are read if there is no copy. "!" and "!!" as in categories.
--   categories  the rules of categories beside the overall ones, "" for none:
--               "marketing=2 -3,news=-,otp=!,codes=!!". "-" is a category with quiet
--               times of its own, and no rules. "!" is an exempt category; one with "!!"
--               does not count for the others either.
--@include zone

local function add_rules(rules, words)
  for limit, window in string.gmatch(words, '(%S+) (%S+)') do
    rules.count = rules.count + 1
    rules.limits[rules.count], rules.windows[rules.count] = tonumber(limit), tonumber(window)
  end
end

-- rules_of returns rules, a table of
--
--   count, limits, windows   how many they are, their limits and windows
--   overall                  how many count any category; they come first
--   category                 whose messages the others count; nil if the policy has no
--                            such category
--   name                     of an exempt category, from rules_in
--   exempt                   true if neither rules nor quiet hours apply
--   uncounted                true if its messages don't count for the others
local function rules_of(words, scope)
  local rules = {count = 0, limits = {}, windows = {}}
  if string.sub(scope, 1, 1) == '!' then
    rules.overall, rules.exempt, rules.uncounted = 0, true, scope == '!!'
    return rules
  end
  add_rules(rules, words)
  local overall, category = string.match(scope, '^(%d+) (%S+)$')
  rules.overall = tonumber(overall) or rules.count
  rules.category = category
  return rules
end

-- rules_in returns the rules that judge a category, false or "" for none: the overall
-- ones, and its own in categories.
local function rules_in(words, categories, category)
  local own
  for name, entry in string.gmatch(categories, '([^=,]+)=([^,]+)') do
    if name == category then own = entry end
  end
  if own and string.sub(own, 1, 1) == '!' then
    local rules = rules_of('', own)
    rules.name = category
    return rules
  end
  local rules = rules_of(words, '')
  if own then
    rules.category = category
    add_rules(rules, own)
  end
  return rules
end
