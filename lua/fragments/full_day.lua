-- full_day: bounds how many places a user has in a day of UTC, so that none has so many
-- that calls get slow. Those in the timeline and those beside it each have the bound; see
-- most_places in fragments/judging.lua. In most timelines there are fewer places in all:
-- then no day is counted.

local set_of, may_fill
do
  local cards = {}

  -- set_of returns the key of the places that are bounded together with those of a message
  -- with these rules, see fragments/policy.lua.
  function set_of(rules)
    return rules.uncounted and (string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)) or timeline
  end

  -- may_fill reports whether some day may be full in a set, if there are `more` places.
  function may_fill(key, more)
    if not most_places then return false end
    cards[key] = cards[key] or redis.call('ZCARD', key)
    return cards[key] + more >= most_places
  end
end
