-- arguments: the first arguments of every script that judges, as far as most calls need them; the
-- others are in judge/policy.lua.
--
--   ARGV[1]  see fragments/clock.lua; or "!" and the last time at which the rules may
--            judge, Unix ms: now is the server's clock; or "~" and how long the writes of
--            a dry run stay, ms: now is the server's clock too
--   ARGV[2]  the user's settings that Go used, see fragments/settings.lua
--   ARGV[3]  the policy word, which is the same for most calls of a program. It has six lines:
--            1. numbers, "." for none: how long a place is remembered after its time, ms, which
--               is the largest window of the rules and the grace; the reach of schedules, ms
--               after now; how many places near a time may raise an alert; if places are bounded,
--               how many a user may have in a day of UTC, and how long past ones count, ms:
--               "86405000 31622400000 8 1000 90005000"; then, if the account of the message has
--               a share, its share of these places, its name, and its percentage of each rule:
--               " 750 acme 50"
--            2. rules, see judge/rules.lua: those of one category, or the overall ones
--            3. for the rules of one category, their scope; for the overall ones, the rules of
--               categories; see judge/rules.lua
--            4. alerts, see fragments/user_alert.lua
--            5. offsets of the time zone, see judge/zone.lua; for a policy with dated changes
--               followed by "|" and the times that the rules are for, from and until in Unix
--               ms, "-inf" and "inf" for none
--            6. quiet hours, see judge/quiet.lua
local rules_until = string.byte(ARGV[1]) == 33 and tonumber(string.sub(ARGV[1], 2)) or nil -- "!"
local keep, reach, alert_from, most_places, since_ms, share_words, rule_words, scope_at =
  string.match(ARGV[3], '^(%d+) (%d+) (%S+) (%S+) (%S+)([^\n]*)\n([^\n]*)\n()')
keep, reach, alert_from, most_places = tonumber(keep), tonumber(reach), tonumber(alert_from), tonumber(most_places)
local bounded_since = now - (tonumber(since_ms) or 0)
local share_places = share_words ~= '' and tonumber(string.match(share_words, '^ (%d+)')) or nil
local settings = ARGV[2]
