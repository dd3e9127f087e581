-- charge: the charge of an account, or a throttle, for a message.
--
-- The charge is a hold until the outcome of the change is known. The holds of a call are a STRING
-- of lines. The first has these words, "." for none:
--
--   the state of each hold: the letter of its terms while it is open, else ENDED or REFUSED
--   the last time at which the changes may be made, Unix ms, by the clock of the users' server
--   account, or "~" and the name of a throttle, whose period is the hour below
--   limit of the day, which bounds cancels too; without one, "h" and the limit of the hour, "h10"
--   percents of that limit that raise an alert, "80,100"
--   details of the alert, JSON without spaces
--
-- The second line has the terms. The third has the letter of each hold's hour, and the hours. The
-- others have the message id and the user of each hold. All are written as in the call of
-- charge/hold.lua. The n-th terms, the n-th hour and the n-th hold have the n-th of LETTERS.
--
-- A call without an open hold is SETTLED. It is kept for a while, so that its holds are not taken
-- twice.
--
-- A counter is a STRING with the key "q:account:unit:start" after the prefix. The units h and d
-- count the charges of an hour and a day. The unit s counts a day without open holds, for alerts.
--
-- A cancel gives back the charge of the message, but its record is kept for a while. So that an
-- account cannot have more records than its limit allows, a period gives back at most as many
-- messages as its limit. Their counter is a STRING with the key "back:account:unit:start" after the
-- prefix. Later cancels leave the counters of the period unchanged. Needs now, prefix,
-- "sl:{p0042}:" of the account's partition, and fragments/alert.lua.
local SETTLED, ENDED, REFUSED = '.', 46, 33 -- 46 is ".", 33 is "!"
local LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
local COUNTER_KEPT = 3600000 -- ms that a counter is kept after its period, for holds settled late
local CALL_KEPT = '60000'    -- ms that a settled call is kept
local LONGEST = 93600000     -- ms of the longest period, a day in which clocks change

-- new_counts reads and writes the counters of many holds, each counter once. add returns a counter,
-- which read reads; write writes its count at that time. A counter with an end of its period
-- expires by it; others keep their TTL. write may get holds to write too: one command writes them
-- with the counters, so that a torn log has neither or both.
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

-- terms_of returns the changes when a hold ends, except for its own hour if the change was not
-- made. Many holds have the same terms.
local function terms_of(counts, common, terms, change_made)
  local account, limit, percents, details = string.match(common, '^(%S+) (%S+) (%S+) (%S+)$')
  local charged, day, day_ends, back_hour, back_day = string.match(terms, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
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

-- hour_of returns the counter of the hour of the i-th hold of a call.
local function hour_of(counts, call, i, key)
  local letters, hours = string.match(call, '\n[^\n]*\n(%S+) ([^\n]*)')
  local n = string.find(LETTERS, string.sub(letters, i, i), 1, true)
  for start, ends in string.gmatch(hours, '%d (%S+) ([^;]+)') do
    n = n - 1
    if n == 0 then return counts.add(key .. start, tonumber(ends)) end
  end
end

local MADE, UNMADE = 1, 2
local function is_open(state) return state and state ~= ENDED and state ~= REFUSED end

-- settle_holds ends holds, unless they were settled before. If the change was made, the charge
-- stays, and what it gives back is given back; otherwise the charge is given back. `made` and
-- `unmade` are as in charge/settle_hold.lua. It returns the ids of the alerts that this raises, and
-- how many holds of both lists were open. It also works in a full store.
local function settle_holds(holds, made, unmade)
  local ends, calls, keys, by_name = {}, {}, {}, {}
  for side, list in ipairs({made, unmade}) do
    for name, which in string.gmatch(list, '(%S+)/(%S+)') do
      local call = by_name[name]
      if not call then
        call = {name = name, key = prefix .. 'h:' .. name}
        calls[#calls + 1], keys[#keys + 1], by_name[name] = call, call.key, call
      end
      ends[#ends + 1] = {call = call, which = which, side = side}
    end
  end
  if not keys[1] then return {}, 0, 0 end

  local counts, known, open, settled = new_counts(), {{}, {}}, {}, {0, 0}
  local hours = {} -- with a charge to give back
  local found = redis.call('MGET', unpack(keys))
  for i, call in ipairs(calls) do
    local states, rest, common, all = string.match(found[i] or '', '^(%S+)( %d+ ([^\n]+)\n([^\n]+).*)$')
    call.states, call.rest, call.common, call.terms = {string.byte(states or '', 1, -1)}, rest, common, {}
    local n = 0
    for terms in string.gmatch(all or '', '[^;]+') do
      n = n + 1
      call.terms[string.byte(LETTERS, n)] = terms
    end
  end
  for _, some in ipairs(ends) do
    local call, by_letter, known_terms = some.call, {}, known[some.side]
    local common = call.common
    for letter in string.gmatch(some.which, '.') do
      local i = string.find(LETTERS, letter, 1, true)
      local state = call.states[i]
      if is_open(state) then
        local t = by_letter[state]
        if not t then
          local terms = call.terms[state]
          local words = common .. ' ' .. terms
          t = known_terms[words] or terms_of(counts, common, terms, some.side == MADE)
          known_terms[words], by_letter[state] = t, t
        end
        call.states[i], call.changed = ENDED, true
        open[#open + 1], settled[some.side] = t, settled[some.side] + 1
        hours[#open] = t.hours and hour_of(counts, call.rest, i, t.hours) or t.hour
      end
    end
  end
  counts.read()

  local notices = {}
  redis.call('ZREM', holds, '') -- a script that first removes may write in a full store
  for n, t in ipairs(open) do
    local stays -- whether the charge stays
    if t.back then
      if t.back.count < t.most then t.back.count = t.back.count + 1 else stays = t.of end
    end
    if stays ~= 'h' then give_back(hours[n]) end
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
  local values, over = {}, {}
  for _, call in ipairs(calls) do
    local states, rest = string.char(unpack(call.states)), call.rest
    local ended = not string.find(states, '[%w_-]')
    if ended then over[#over + 1] = call.name end
    if call.changed then
      values[#values + 1], values[#values + 2] = call.key, ended and SETTLED or states .. rest
    end
  end
  -- The alerts first. The calls leave the list last: until then a worker checks them again.
  counts.write(values)
  for _, name in ipairs(over) do redis.call('PEXPIRE', prefix .. 'h:' .. name, CALL_KEPT) end
  if over[1] then redis.call('ZREM', holds, unpack(over)) end
  return notices, settled[MADE], settled[UNMADE]
end
