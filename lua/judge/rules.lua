-- rules: the rules that judge a message.
--
--   words       limit and window of each rule, in order: "1 60000 5 3600000 10 -3".
--               A window in ms slides; -1 to -5 is the natural minute, hour, day,
--               week, month.
--   scope       which messages they count: "" for all. "3 marketing": the first three count
--               all, the others only those of marketing. "!" and "!!" as in categories.
--   categories  the rules of categories in addition to the overall ones, "" for none:
--               "marketing=2 -3,news=-,otp=!,codes=!!". "-" is a category with only quiet
--               times of its own. "!" is an exempt category; a category with "!!" also does
--               not count for the others.


-- rules_of returns rules, a table of
--
--   count, limits, windows   their number, limits and windows
--   overall                  how many count any category; they come first
--   category                 category that the others count; nil if the policy has no
--                            such category
--   name                     of an exempt category, from rules_in
--   exempt                   true if neither rules nor quiet hours apply
--   uncounted                true if its messages don't count for the others
local function rules_of(words, scope)
  if string.byte(scope) == 33 then -- "!"
    return {count = 0, limits = {}, windows = {}, overall = 0, exempt = true, uncounted = scope == '!!'}
  end
  local limits, windows, n = {nil, nil, nil, nil}, {nil, nil, nil, nil}, 0 -- with room for four
  for limit, window in string.gmatch(words, '(%S+) (%S+)') do
    n = n + 1
    limits[n], windows[n] = tonumber(limit), tonumber(window)
  end
  local overall, category
  if scope ~= '' then overall, category = string.match(scope, '^(%d+) (%S+)$') end
  return {count = n, limits = limits, windows = windows, overall = tonumber(overall or n), category = category,
    q = false, lists = false, periods = false, quiet = false, tried = false, bounded = false} -- see judge/judge.lua
end
