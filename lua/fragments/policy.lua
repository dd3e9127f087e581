-- policy: the rules that a message is judged by.
--
--   words       limit and window of each rule, in order: "1 60000 5 3600000 10 -3".
--               A window in ms slides; -1 to -5 is the natural minute, hour, day,
--               week, month.
--   scope       whose they are: "" for everybody's; else how many of them, the
--               first, are, and the category that the others are for, which count
--               its messages alone: "3 marketing". What follows it begins the keys of
--               records that are looked up after those beside the timeline: in a dry
--               run, the real ones. "!" is a category that is exempt.
--   categories  the rules that categories have beside the overall ones, "" for
--               none: "marketing=2 -3,otp=!,codes=!!". One that has "!" is exempt,
--               and with "!!" does not count for the others either.
--@include zone

local function add_rules(rules, words)
  for limit, window in string.gmatch(words, '(%S+) (%S+)') do
    rules.count = rules.count + 1
    rules.limits[rules.count], rules.windows[rules.count] = tonumber(limit), tonumber(window)
  end
end

-- rules_of gives rules, which have
--
--   count, limits, windows   how many they are, and what they say
--   overall                  how many, the first, count messages of any category
--   category                 whose messages the others count; nil where none does
--   copied                   what begins the keys of other records, see scope
--   exempt                   true if nothing is judged, quiet hours not either
--   uncounted                true if its messages don't count for the others
local function rules_of(words, scope)
  local rules = {count = 0, limits = {}, windows = {}}
  if string.sub(scope, 1, 1) == '!' then
    rules.overall, rules.exempt, rules.uncounted = 0, true, scope == '!!'
    return rules
  end
  add_rules(rules, words)
  local overall, category, copied = string.match(scope, '^(%d+) (%S+) ?(.*)$')
  rules.overall = tonumber(overall) or rules.count
  if rules.overall < rules.count then rules.category = category end
  if copied ~= '' then rules.copied = copied end
  return rules
end

-- rules_in gives the rules that judge a category, false or "" for none: the
-- overall ones, and those it has among categories.
local function rules_in(words, categories, category)
  local own
  for name, entry in string.gmatch(categories, '([^=,]+)=([^,]+)') do
    if name == category then own = entry end
  end
  if own and string.sub(own, 1, 1) == '!' then return rules_of('', own) end
  local rules = rules_of(words, '')
  if own then
    rules.category = category
    add_rules(rules, own)
  end
  return rules
end
