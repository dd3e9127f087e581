-- zone: the times that local clocks show, from the offsets of time zones.
--
--   offsets  first instant (Unix ms) and offset from UTC (ms) of each stretch with
--            the same offset. The first offset also applies to everything before.
--            "" for UTC. Natural periods are in this zone.
local DAY = 86400000
local WEEK = 7 * DAY
local MONDAY = 4 * DAY -- 5 January 1970

-- clocks_of_zone returns zone_of, stretch_at and period, by these names. Many calls need none of
-- them, so they are created at first use.
local clocks
local function clocks_of_zone()
  if clocks then return clocks end
  local UNITS = {60000, 3600000} -- natural minute and hour

  -- zone_of parses offsets; "" for UTC.
  local function zone_of(text)
    local z = {count = 0, from = {}, offset = {}}
    for from, offset in string.gmatch(text, '(%S+) (%S+)') do
      z.count = z.count + 1
      z.from[z.count], z.offset[z.count] = tonumber(from), tonumber(offset)
    end
    if z.count == 0 then z.count, z.offset[1] = 1, 0 end
    z.from[1] = -math.huge
    return z
  end
  local zone = zone_of(offsets)

  -- stretch_at returns the number of the stretch of a zone that contains t.
  local function stretch_at(z, t)
    local s = z.count
    while s > 1 and z.from[s] > t do s = s - 1 end
    return s
  end

  -- local_start returns the local start of the natural day, week or month of a local time, and of
  -- the next one. For a month it computes the civil calendar from day numbers by Howard Hinnant's
  -- "chrono-compatible low-level date algorithms": years start in March, so a leap day is the last
  -- day of a year.
  local function local_start(kind, l)
    if kind == 3 then
      local start = l - l % DAY
      return start, start + DAY
    elseif kind == 4 then
      local start = l - (l - MONDAY) % WEEK
      return start, start + WEEK
    end
    local function days_to(year, month) -- of the first day; month 1 is March
      return year * 365 + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
        + math.floor((153 * (month - 1) + 2) / 5) - 719468
    end
    local days = math.floor(l / DAY) + 719468
    local era = math.floor(days / 146097)
    local of_era = days - era * 146097
    local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
      - math.floor(of_era / 146096)) / 365)
    local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
    local month = math.floor((5 * of_year + 2) / 153) + 1
    year = year + era * 400
    local start = days_to(year, month)
    if month == 12 then year, month = year + 1, 0 end
    return start * DAY, days_to(year, month + 1) * DAY
  end

  -- instant returns the first instant at which local clocks show l or later.
  local function instant(l)
    for s = 1, zone.count do
      local u = math.max(l - zone.offset[s], zone.from[s])
      if s == zone.count or u < zone.from[s + 1] then return u end
    end
  end

  -- period returns the natural period that contains t, half-open, Unix ms. A minute or an hour ends
  -- where the clocks change. A day, week or month ends with the first instant of the next one.
  local function period(kind, t)
    local s = stretch_at(zone, t)
    local l = t + zone.offset[s]
    local unit = UNITS[kind]
    if unit then
      local from = l - l % unit - zone.offset[s]
      return math.max(from, zone.from[s]), math.min(from + unit, zone.from[s + 1] or math.huge)
    end
    local start, following = local_start(kind, l)
    local from, till = instant(start), instant(following)
    while t >= till do
      following = select(2, local_start(kind, following))
      from, till = till, instant(following)
    end
    return from, till
  end

  clocks = {zone_of = zone_of, stretch_at = stretch_at, period = period}
  return clocks
end
