-- full_day: bounds how many places a user has in a day of UTC, so that none has so many
-- that calls get slow. Those in the timeline and those beside it each have the bound; see
-- most_places in fragments/judging.lua. In most timelines there are fewer places in all:
-- then no day is counted.
--
-- Of each set, one account has at most its share of a day, if ARGV[3] names one. Whose a place
-- is, see fragments/whose.lua, is read only in days that have as many places as the share.

local set_of, filled
do
  local cards, share = {}, nil

  -- own_reach reports whether `least` of the `count` places from first to last are the account's.
  local function own_reach(least, key, first, last, count, excluded)
    local SLICE = 256
    local read, own, others = 0, 0, 0
    repeat
      local page = redis.call('ZRANGE', key, first, last, 'BYSCORE', 'LIMIT', read, SLICE)
      for k = 1, #page do
        if own >= least or others > count - least then break end
        if is_its_own(page[k]) and not (excluded and excluded[page[k]]) then
          own = own + 1
        elseif not (excluded and excluded[page[k]]) then
          others = others + 1
        end
      end
      read, spent = read + #page, spent + #page + 8
    until own >= least or others > count - least or #page < SLICE
    return own >= least
  end

  -- set_of returns the key of the places that are bounded together with those of a message
  -- with these rules, see fragments/policy.lua.
  function set_of(rules)
    return rules.uncounted and (string.gsub(timeline, '^([^}]*}:)u:', '%1x:', 1)) or timeline
  end

  -- filled reports whether the day of a time has as many places of a set as are allowed, with
  -- `more` that are the account's; then whether the account has its share of them.
  function filled(key, t, more, excluded)
    if not most_places then return false end
    if not cards[key] then
      cards[key] = redis.call('ZCARD', key)
      share = string.match(ARGV[3], '^%d+ %d+ %d+ (%d+) %S')
    end
    if cards[key] + more < (share and tonumber(share) or most_places) then return false end
    local first = t - t % DAY
    local count = count_in(key, math.max(first, bounded_since), first + DAY, excluded)
    local least = share and share - more
    local own = least and count >= least
      and own_reach(least, key, math.max(first, bounded_since), first + DAY - 1, count, excluded)
    return own or count + more >= most_places, own
  end
end
