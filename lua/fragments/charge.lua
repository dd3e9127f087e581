-- charge: what an account, or a throttle, is charged for a message.
--
-- The charge is a hold until it is known whether the change was made. A hold is a STRING
-- with these words, "." for none:
--
--   until when the change may be made, Unix ms, by the clock of the server that has the user
--   account, or "~" and the name of a throttle, whose period is the hour below
--   limit of the day, which bounds cancels too; without one "h" and that of the hour, "h10"
--   percents of that limit that raise an alert, "80,100"
--   details of the alert, JSON without spaces
--   the words of the hold in the call of charge/hold.lua: present or not, start and end of
--   the hour, counters that are charged, start and end of the day, hour and day to give
--   back if the change is made, message id and user
--
-- A settled hold is SETTLED. It stays for a while, so that a hold with the same attempt is
-- not taken a second time.
--
-- A counter is a STRING with the key "q:account:unit:start" after the prefix. The
-- units h and d count what is charged in an hour and a day. The unit s counts a day
-- without open holds; alerts go by it.
--
-- A cancel gives back what the message was charged, and its record stays for a while. So that
-- those are not more than what an account may send, a period gives back as many messages as its
-- limit is. The counter of these is a STRING with the key "back:account:unit:start" after the
-- prefix. Later cancels leave the counters of the period as they are.
-- Needs now, prefix, "sl:{p0042}:" of the account's partition, and fragments/alert.lua.
local SETTLED = 's'
local COUNTER_KEPT = 3600000 -- ms that a counter stays after its period, for holds settled late
local ATTEMPT_KEPT = '60000' -- ms that a settled hold stays
local LONGEST = 93600000     -- ms of the longest period, a day in which clocks change

-- not_after_of returns until when the change of an open hold may be made.
local function not_after_of(hold) return tonumber(string.match(hold, '^%d+')) end

-- new_counts reads and writes the counters of many holds, each counter once. add returns a
-- counter for read to read; write writes the count that it has by then. A counter with an
-- end of its period expires by that, and another one keeps its TTL. write gets holds to write, too:
-- one command writes them with the counters, so that a log that is torn has neither or both.
local function new_counts()
  local counts, list, keys, by_key = {}, {}, {}, {}
  function counts.add(key, ends)
    local c = by_key[key]
    if not c then
      c = {key = key, count = 0, before = 0, till = false}
      list[#list + 1], keys[#keys + 1], by_key[key] = c, key, c
    end
    if ends then c.till = ends + COUNTER_KEPT end
    return c
  end
  function counts.read()
    local found = keys[1] and redis.call('MGET', unpack(keys))
    for i = 1, #list do
      local count = tonumber(found[i] or 0)
      list[i].count, list[i].before = count, count
    end
  end
  function counts.write(values)
    local changed = {}
    for i = 1, #list do
      local c = list[i]
      if c.count ~= c.before then
        c.till = c.till or c.count > 0 and redis.call('PEXPIRETIME', c.key)
        changed[#changed + 1] = c
        values[#values + 1], values[#values + 2] = c.key, c.count
      end
    end
    if #values > 0 then redis.call('MSET', unpack(values)) end
    for i = 1, #changed do
      local c = changed[i]
      if c.count == 0 then
        redis.call('DEL', c.key)
      elseif c.till > 0 then
        redis.call('PEXPIREAT', c.key, c.till)
      end
    end
  end
  return counts
end

-- give_back takes one off a counter, never below zero.
local function give_back(counter)
  if counter and counter.count > 0 then counter.count = counter.count - 1 end
end

-- Of a hold: account, limit, percents and details; the start and the end of its hour; and its
-- words from the charged counters to the day to give back.
local HOLD = '^%d+ (%S+ %S+ %S+ %S+) %d (%S+) (%S+) (%S+ %S+ %S+ %S+ %S+) '

-- terms_of returns what ending a hold changes, but for its own hour. Many holds of a call
-- have the same terms.
local function terms_of(counts, common, charges, change_made)
  local account, limit, percents, details = string.match(common, '^(%S+) (%S+) (%S+) (%S+)$')
  local charged, day, day_ends, back_hour, back_day = string.match(charges, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  local function counter(unit, start, ends)
    return start ~= '.' and counts.add(prefix .. 'q:' .. account .. ':' .. unit .. ':' .. start, ends)
  end
  local charges_day = charged == 'hd' or charged == 'd'
  if not change_made then
    return {hours = (charged == 'hd' or charged == 'h') and prefix .. 'q:' .. account .. ':h:',
      day = charges_day and counter('d', day, tonumber(day_ends))}
  end
  local t = {account = account, hour = counter('h', back_hour), day = counter('d', back_day),
    settled_back = counter('s', back_day), starts = day, ends = tonumber(day_ends), details = details}
  local by_hour, most = string.match(limit, '^(h?)(%d+)$')
  if most and day == '.' then -- a cancel
    local unit, start = 'd', back_day
    if by_hour ~= '' then unit, start = 'h', back_hour end
    if start ~= '.' then
      t.most, t.of = tonumber(most), unit
      local key = table.concat({prefix, 'back:', account, ':', unit, ':', start})
      t.back = counts.add(key, start + LONGEST + COUNTER_KEPT)
    end
  end
  if charges_day and now < t.ends + COUNTER_KEPT then
    t.settled = counter('s', day, t.ends)
    if percents ~= '.' then
      t.limit, t.percents = tonumber(limit), {}
      for percent in string.gmatch(percents, '%d+') do t.percents[#t.percents + 1] = tonumber(percent) end
    end
  end
  return t
end

-- settle_holds ends holds, unless they were settled before. The charge of a change that
-- was made stays, and what it gives back is given back; so is the charge of a change that
-- was not made. It takes the attempts of both, separated by spaces. It returns the ids of
-- the notices that this raises, and how many of the holds were open. It works in a full store, too.
local function settle_holds(holds, made, unmade)
  local attempts, keys, counts = {}, {}, new_counts()
  for attempt in string.gmatch(made, '%S+') do attempts[#attempts + 1] = attempt end
  local count_made = #attempts
  for attempt in string.gmatch(unmade, '%S+') do attempts[#attempts + 1] = attempt end
  if not attempts[1] then return {}, 0 end
  for i = 1, #attempts do
    local attempt = attempts[i]
    keys[i] = prefix .. 'h:' .. attempt
  end

  local found, seen, open, hours, known = redis.call('MGET', unpack(keys)), {}, {}, {}, {}
  for i = 1, #keys do
    if i == 1 or i == count_made + 1 then known = {} end
    local hold, key = found[i], keys[i]
    if hold and hold ~= SETTLED and not seen[key] then
      seen[key] = true
      local common, hour, hour_ends, charges = string.match(hold, HOLD)
      local alike = known[common] or {}
      known[common] = alike
      local t = alike[charges] or terms_of(counts, common, charges, i <= count_made)
      alike[charges] = t
      open[i] = t
      hours[i] = t.hours and counts.add(t.hours .. hour, tonumber(hour_ends)) or t.hour
    end
  end
  counts.read()

  local notices, settled, values = {}, 0, {}
  redis.call('ZREM', holds, '') -- a script that removes first may write in a full store
  for i = 1, #keys do
    local t = open[i]
    if t then
      settled = settled + 1
      values[#values + 1], values[#values + 2] = keys[i], SETTLED
      local stays -- charged
      if t.back then
        if t.back.count < t.most then t.back.count = t.back.count + 1 else stays = t.of end
      end
      if stays ~= 'h' then give_back(hours[i]) end
      if stays ~= 'd' then
        give_back(t.day)
        give_back(t.settled_back)
      end
      if t.settled then t.settled.count = t.settled.count + 1 end
      if t.percents then
        local used = t.settled.count
        local notice = raise(prefix, 'account_quota', 'a', t.account, t.starts, t.ends, used, t.limit, t.percents,
          t.details)
        notices[#notices + 1] = notice
      end
    end
  end
  -- The alerts first, and the holds leave the list last: until then a worker looks at them again.
  counts.write(values)
  for i = 1, #keys do
    if open[i] or found[i] == SETTLED then redis.call('PEXPIRE', keys[i], ATTEMPT_KEPT) end
  end
  redis.call('ZREM', holds, unpack(attempts))
  return notices, settled
end
