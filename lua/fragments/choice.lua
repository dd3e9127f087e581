-- choice: how the time of a message may be chosen, ARGV[6].
--
-- "" takes or refuses the time asked for; "-" too, but a refusal has no free times. Otherwise the
-- word has six parts, Unix ms, "." for none: the last time that a shift may use, or "-"; where its
-- search continues; the last time of the change, the first time for the place and the end of the
-- times for it, see fragments/hold.lua; and where a shift starts to search. The spread of a shift
-- follows, see judge/spread.lua, then "|" and how a message is replaced, see
-- fragments/replacement.lua.
--
-- Needs now and asked. Defines a local for each part, and knows_replaced, is_alone and is_covered.
local choice, resume_at, not_after, place_from, place_before, search_from = ARGV[6], nil, nil, nil, nil, nil
local spread_words, replaces = '', ''
if #choice > 1 then
  choice, resume_at, not_after, place_from, place_before, search_from, spread_words, replaces =
    string.match(choice, '^(%S+) (%S+) (%S+) (%S+) (%S+) ([^ |]+)([^|]*)|?(.*)$')
  resume_at, search_from, not_after = tonumber(resume_at), tonumber(search_from), tonumber(not_after)
  place_from, place_before = tonumber(place_from), tonumber(place_before)
end
local until_at = tonumber(choice)
-- The request creates no message, or its hold is for the one that it replaces.
local knows_replaced = replaces ~= '' and not string.find(replaces, '^%+ %S+ %. ')
local is_alone = choice == '-' -- a refusal has no free times
local is_covered = not search_from and now <= (not_after or now) -- a hold allows the time asked for
  and asked >= (place_from or asked) and asked < (place_before or math.huge)
