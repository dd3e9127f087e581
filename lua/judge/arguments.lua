-- arguments: the first nine arguments of every script that judges.
--
--   ARGV[1]  see fragments/clock.lua; or "!" and the last time at which the rules may
--            judge, Unix ms: now is the server's clock; or "~" and how long the writes of
--            a dry run stay, ms: now is the server's clock too
--   ARGV[2]  how long a place is remembered after its time, ms: the largest window of
--            the rules and the grace
--   ARGV[3]  reach of schedules, ms after now; then, if places are bounded, how many a user
--            may have in a day of UTC, and how long past ones count, ms:
--            "31622400000 1000 90005000"; then, if the account of the message has a share,
--            its share of these places, and its name: " 750 acme"; then its percentage of
--            each rule, if not all: " 50"
--   ARGV[4]  rules, see judge/rules.lua: those of one category, or the overall ones
--   ARGV[5]  offsets of the time zone, see judge/zone.lua; for a policy with dated changes
--            followed by "|" and the times that the rules are for, from and until in Unix
--            ms, "-inf" and "inf" for none
--   ARGV[6]  for the rules of one category, their scope; for the overall ones, the
--            rules of categories; see judge/rules.lua
--   ARGV[7]  quiet hours, see judge/quiet.lua
--   ARGV[8]  alerts, see fragments/user_alert.lua
--   ARGV[9]  the user's settings that Go used, see fragments/settings.lua
local rules_until = string.byte(ARGV[1]) == 33 and tonumber(string.sub(ARGV[1], 2)) or nil -- "!"
local ahead_ms, places_word, since_ms, share_words = string.match(ARGV[3], '^(%d+) ?(%d*) ?(%d*) ?(.*)$')
local keep, reach, most_places = tonumber(ARGV[2]), tonumber(ahead_ms), tonumber(places_word)
local bounded_since = now - (tonumber(since_ms) or 0)
local share_word, share_account, percent_word = string.match(share_words, '^(%d+) (%S+) ?(%d*)$')
local share_places, share_percent = tonumber(share_word or ''), tonumber(percent_word or '')
local during = ARGV[5] ~= '' and string.match(ARGV[5], '|(.*)$')
local offsets = during and string.match(ARGV[5], '^[^|]*') or ARGV[5]
local during_from, during_till = -math.huge, math.huge
if during then
  local from, till = string.match(during, '(%S+) (%S+)')
  during_from, during_till = tonumber(from) or during_from, tonumber(till) or during_till
end
local rule_words, scope_words, quiet, alerts, settings = ARGV[4], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
