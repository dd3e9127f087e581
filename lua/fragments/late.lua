-- late: finds times for the late messages of a user.
--
-- They are judged now, in the order of their promised times. Each gets the next free time before it
-- expires; all messages ahead keep their places. Late messages keep their order within a class, and
-- classes do not wait for each other. So a late message gets no time before that of an earlier
-- promised one that was late before and still waits, although an earlier time may be free by now.
-- Waiting messages that were promised later, and messages that are on time at such a later place,
-- are placed again behind it, unless it was tried before. A category with rules of its own is a
-- class; all others together are one.
--
-- Some late messages are not judged. Exempt messages are sent when their tasks run, and count at
-- their present places until then. An expired message, or one that the user does not want, does not
-- count: its task will drop it, and a younger message must not get the place that becomes free
-- then. A message of a paused campaign keeps its place, and delays no other. A message that reached
-- a device, or may have, counts as sent, and delays no other.
--
-- The present rules judge, so no message gets a time at which other rules apply. If none is free
-- before, and the message does not expire before, it waits until then as for a retry.
--
-- Needs the locals of message/claim.lua, such as the message `this`, and fragments/overdue.lua.

local class_of, late_ones, judge, in_the_way
do -- the embedded store bounds the locals of a script
  local MOST, LOOKED = 80, 1000 -- messages placed, records looked at, in one call
  local LOOK = 10 -- steps of reading a record, see judge/question.lua
  q.work = 13000 -- more than in other scripts: a claim places a whole backlog

  -- Everything before the late mark in the timeline has ended (STRING: Unix ms).
  local classes, late_mark = {}, prefix .. 'l:' .. user
  local resume_at, resume_rule, resume_class = string.match(ARGV[10], '^(%S+) (%S+) ?(.*)$')

  -- begin starts a class with its first message, or where an earlier call ended.
  local function begin(class)
    class.from, class.goes_on = now, false
    if resume_class == class.name then
      class.from, class.in_the_way, class.goes_on = tonumber(resume_at), tonumber(resume_rule), true
    end
  end

  -- class_of returns the class of a category; false means no category.
  function class_of(category)
    local name = category or ''
    if not classes[name] then
      local rules = rules_in(rule_words, scope_words, category)
      if name == '' or rules.category or rules.exempt then
        classes[name] = {name = name, rules = rules}
        begin(classes[name])
      else
        classes[name] = class_of(false)
      end
    end
    return classes[name]
  end

  -- older sorts messages by promised time, then by id.
  local function older(a, b)
    local x, y = a.promised or a.at, b.promised or b.at
    if x ~= y then return x < y end
    return a.id ~= b.id and id_at_or_before(a.id, b.id)
  end

  -- is_held_up reports whether a late message waits for another one that is being sent.
  local function is_held_up(m) return m ~= this and m.class.sending and older(m.class.sending, m) end

  -- without_held_up returns the late messages to judge. Some were read before the message that
  -- delays them. It records in the class of `this` whether it left out an older one.
  local function without_held_up(late, held_up)
    local class, judged = this.class, {}
    local impatient = class.sent_until and not is_patient(class.sent_until)
    for k = 1, #late + #held_up do
      local m = late[k] or held_up[k - #late]
      m.behind = is_held_up(m)
      if #judged < MOST and (not m.behind or impatient and m.class == class) then
        judged[#judged + 1] = m
      elseif m.behind and m.class == class and older(m, this) then
        class.left_out = true -- `this` gets no time before it
      end
    end
    return judged
  end

  -- late_ones returns the user's messages that are late and wait for nothing else, and whether
  -- `this` may come after them. Their present places do not count, as all of them are placed again;
  -- neither do those of expired exempt ones. An earlier promised late message of the class that is
  -- being sent delays a message: only its own claim places it. The class records until when it
  -- delays `this`. When `this` no longer waits for it, the others do not either: they go before
  -- `this`, which may be the only one that still has a task.
  function late_ones()
    local ENOUGH = 300 -- records to read, if MOST messages are found among them
    local GLANCE = 4 -- steps of reading only the state
    local from = tonumber(call('GET', late_mark) or 0)
    if from > now then from = 0 end -- a step of the clock put it there
    local seen = call('ZRANGE', timeline, from, now - tolerance - 1, 'BYSCORE', 'LIMIT', 0, LOOKED, 'WITHSCORES')
    local late, held_up, mark, found, looked, ended = {}, {}, nil, false, 0, false
    for k = 1, #seen, 2 do
      if #late == MOST and looked >= ENOUGH then break end
      looked = looked + 1
      local other, stands = seen[k], tonumber(seen[k + 1])
      local m = other == id and this
      local open = m
      if not m then
        local key = records .. string.gsub(other, ':', '/')
        if ended then -- the one after it has probably ended too
          q.spent = q.spent + GLANCE
          local s = call('HGET', key, 's')
          ended = s and s ~= SENDING
        end
        local f = {}
        if not ended then
          q.spent = q.spent + LOOK
          f = call('HMGET', key, 's', 'g', 'a', 'x', 'p', 'q', 'y', 'k', 'z', 'u', 'n', 'C', 'w', 'D')
        end
        local is, waits = state_of(f[1], f[2]), not f[6] and not has_reached(f[14])
        open = is == PENDING or is == SENDING
        ended = not open
        if is == SENDING and waits then
          local class, sent = class_of(f[8]), {id = other, at = tonumber(f[5]) or stands}
          if not class.sending or older(sent, class.sending) then class.sending = sent end
          if class == this.class and older(sent, this) then
            class.sent_until = math.max(class.sent_until or 0, tonumber(f[10]))
          end
        end
        if is == PENDING and waits and tonumber(f[3] or 0) <= now and stands >= (due_since or stands) then
          local promise, class = tonumber(f[5]), class_of(f[8])
          local expires = tonumber(f[4]) or (promise or stands) + expire_after
          if switched_off(own_settings, settings, f[8]) or wants_nothing(f[8]) then
            q.excluded[other] = true
          elseif not class.rules.exempt and not (now < expires and is_paused(f[12], f[7])) then
            m = {id = other, record = key, member = f[2] .. suffix_of(other),
              generation = f[2], at = stands, promised = promise, charged = f[7],
              expires = expires, category = f[8], class = class, beside = f[9], tries = tonumber(f[11] or 0),
              held = f[13] == 'paused', campaign = f[12]}
          elseif now >= expires then
            q.excluded[other] = true
          end
        end
      end
      if m then
        q.excluded[other] = true
        if is_held_up(m) then
          held_up[#held_up + 1] = m
        elseif #late < MOST then
          late[#late + 1] = m
          found = found or m == this
        end
      end
      if open and not mark then mark = stands end
    end
    local all = #seen < 2 * LOOKED and 2 * looked == #seen
    if #seen > LOOKED / 4 then
      mark = mark or tonumber(seen[#seen])
      if mark > from then call('SET', late_mark, mark, 'PX', keep_record) end
    end
    late = without_held_up(late, held_up)
    -- Many records were read in vain: the next call begins after them.
    if q.spent > q.work / 4 and mark > from and #late > 0 then return {}, true end
    if found then return late, false end
    if #late == MOST or not all and (#late > 0 or mark > from) then return late, true end
    late[#late + 1] = this -- its place is gone, as after a restore; or too many lie before it
    return late, false
  end

  -- glimpse calls see(id, category, promise, member) for at most LOOKED members of waiting with a
  -- time in from to till, downwards if till is before from, until it returns true.
  local function glimpse(from, till, see)
    local GLIMPSE = 2 -- steps of one member
    local looked, some = 0, 20
    repeat
      local page
      if till == '+inf' then
        page = call('ZRANGE', waiting, from, till, 'BYSCORE', 'LIMIT', looked, some, 'WITHSCORES')
      else
        page = call('ZRANGE', waiting, from, till, 'BYSCORE', 'REV', 'LIMIT', looked, some, 'WITHSCORES')
      end
      q.spent = q.spent + GLIMPSE * #page / 2
      for k = 1, #page, 2 do
        local other, category = waiting_in(page[k])
        if see(other, category, tonumber(page[k + 1]), page[k]) then return end
      end
      local all = #page < 2 * some
      looked, some = looked + some, math.min(2 * some, LOOKED - looked - some)
    until all or some <= 0
  end

  -- add_waiting adds to late messages the later promised ones of their classes that were late
  -- before and wait for their times, or are on time at them: the older ones go first. A message
  -- that was tried displaces none.
  local function add_waiting(late)
    local first
    for k = 1, #late do
      local m = late[k]
      local class, promise = m.class, m.promised or m.at
      if m.tries == 0 and not m.doubt then
        class.oldest = math.min(class.oldest or promise, promise)
        first = math.min(first or promise, promise)
      end
    end
    if not first or #late >= MOST then return end
    local read = 0
    glimpse(first, '+inf', function(other, category, promise)
      local class = class_of(category)
      if promise <= (class.oldest or promise) or q.excluded[other] then return false end
      read, q.spent = read + 1, q.spent + LOOK
      local key = records .. string.gsub(other, ':', '/')
      local f = call('HMGET', key, 's', 'g', 'a', 'x', 'p', 'q', 'y', 'k', 'z', 't', 'C')
      local stands, expires = tonumber(f[10]), tonumber(f[4]) or promise + expire_after
      if state_of(f[1], f[2]) == PENDING and f[5] and f[8] == category and not f[3] and stands >= now - tolerance
          and not f[6] and stands >= (due_since or stands) and not switched_off(own_settings, settings, category)
          and not wants_nothing(category)
          and not (now < expires and is_paused(f[11], f[7])) then
        q.excluded[other] = true
        late[#late + 1] = {id = other, record = key, member = f[2] .. suffix_of(other),
          generation = f[2], at = stands, promised = promise, charged = f[7],
          expires = expires, category = category, class = class, beside = f[9],
          waits = true, campaign = f[11]}
      end
      return #late >= MOST or read >= 2 * MOST
    end)
  end

  local some_wait -- 1 if any waits, 0 if none

  -- last_waiting returns the time of the last message of the class of m that was promised before m,
  -- was late before and waits for its time, or nil. A message that failed and waits for its retry
  -- delays none. It is called in the order of the class's late messages: a message that waits for
  -- one of them also waits for the next, if no message between them does.
  local function last_waiting(m)
    some_wait = some_wait or call('EXISTS', waiting)
    if some_wait == 0 then return nil end
    local class, before = m.class, m.promised or m.at
    glimpse(before, class.glimpsed or '-inf', function(other, category, promise, member)
      if class_of(category) ~= class or q.excluded[other]
          or promise == before and not id_at_or_before(other, m.id) then return false end
      q.spent = q.spent + LOOK
      local f = call('HMGET', records .. string.gsub(other, ':', '/'), 's', 'g', 'p', 't', 'a', 'k', 'C', 'y')
      local is = state_of(f[1], f[2])
      if not f[3] or f[6] ~= category or is ~= PENDING and is ~= SENDING then
        ended_since[#ended_since + 1] = member
      elseif is == PENDING and not f[5] and tonumber(f[4]) > now and not is_paused(f[7], f[8]) then
        class.last_waiting = tonumber(f[4])
        return true
      end
      return false
    end)
    class.glimpsed = before
    return class.last_waiting
  end

  local function give(m, time)
    q.spent = q.spent + 40 -- for writing it
    take(time, m.category)
    m.to, m.class.from = time, time
  end

  -- judge sorts late messages, finds times for as many of them as one call can, and returns how
  -- many it judged. If the first one needs more than one call, it also returns where its search
  -- continues, and its class, as in the reply.
  function judge(late)
    add_waiting(late)
    table.sort(late, older)
    for k = 1, #late do
      local m = late[k]
      if now < m.expires then
        local after = not m.doubt and last_waiting(m)
        local class = m.class
        if after and after > class.from then class.from = after end
        if q.spent > q.work and k > 1 then return k - 1 end -- all share the steps of one call
        local last = math.min(m.expires - 1, now + reach)
        local free, resume, first = next_free(q, class.rules, class.from, 1, last)
        -- The obstacle that an earlier call found came first. If the message had no obstacle
        -- itself, the reason is the one of the message before it.
        if not class.goes_on then class.in_the_way = first or class.in_the_way end
        if resume == during_till then
          m.wakes = resume
          resume = nil
        end
        if resume and k > 1 then return k - 1 end
        class.in_the_way = class.in_the_way or first
        if resume then return 0, resume, (class.in_the_way or '-') .. ' ' .. class.name end
        class.goes_on, m.rule = false, class.in_the_way
        if free then
          give(m, free)
        else
          class.from = math.max(class.from, m.wakes or last + 1) -- nothing is free before
        end
      end
    end
    return #late
  end

  -- in_the_way returns the reason for which a message is postponed.
  function in_the_way(m)
    local rule, rules = m.rule, m.class.rules
    if not rule then return 'late' end
    if rule == 0 then return 'late quiet' end
    if rule == -1 then return 'late disturb' end
    local why = 'late ' .. whole(rules.limits[rule]) .. ' ' .. whole(rules.windows[rule])
    if rule > rules.overall then why = why .. ' ' .. rules.category end
    return why
  end
end
