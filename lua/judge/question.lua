-- question: the question that a script asks the judge. The functions of the judge get everything
-- from it.
--
--   timeline                  key of the user's timeline
--   now, reach                Unix ms, and ms after now
--   during_from, during_till  the times that the rules are for, Unix ms
--   most_places, since        bound of places in a day of UTC, nil for none, and the time since which they count
--   share_places, share_percent  the share of the message's account of them, and of each rule; nil for all
--   excluded                  ids, as keys: their places do not count
--   lists                     lists of read places, by key, see judge/places.lua
--   conflicts                 how many conflicts of a rule a refusal shows
--   spent, work               steps taken so far, about 0.25 us each, and the number after which a search stops
--
-- Other fragments add is_its_own and own_reach (judge/whose.lua), disturb_from, wanted, quiet_in
-- and past_quiet (judge/quiet.lua), and takes, put_taken and taken_in (judge/taken.lua).
local q = {timeline = timeline, now = now, reach = reach, during_from = during_from, during_till = during_till,
  most_places = most_places, since = bounded_since, share_places = share_places, share_percent = share_percent,
  excluded = {}, lists = {}, conflicts = 10, spent = 0, work = 7000}
