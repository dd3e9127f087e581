-- held: reads the hold of a move or a release, a word of its call.
--
-- It is "" without a hold, else "account attempt not_after from before former": the charge and its
-- bounds as in fragments/hold.lua, "." for none, and the attempt that last charged the reservation,
-- "." for none.
--
-- Needs hold_word, nil for "". Defines a local for each.
local charge, not_after, place_from, place_before, former_attempt = '', nil, nil, nil, ''
if hold_word and hold_word ~= '' then
  charge, not_after, place_from, place_before, former_attempt =
    string.match(hold_word, '^(%S+ %S+) (%S+) (%S+) (%S+) (%S+)$')
  not_after, place_from, place_before = tonumber(not_after), tonumber(place_from), tonumber(place_before)
  if former_attempt == '.' then former_attempt = '' end
end
