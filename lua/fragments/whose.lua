-- whose: whether a place is the account's that ARGV[3] names, see fragments/judging.lua. Whose a
-- place is stands in its record; one without a record is nobody's. In a dry run, records that it
-- has not copied are read where they are.
local is_its_own
do
  local account, whose = nil, {}

  function is_its_own(message)
    if whose[message] == nil then
      account = account or string.match(ARGV[3], '^%d+ %d+ %d+ %d+ (%S+)')
      local prefix, user = string.match(timeline, '^([^}]*}:)%l:(.*)$')
      local key = table.concat({prefix, 'm:', user, ':', (string.gsub(message, ':', '/'))})
      local charge = redis.call('HGET', key, 'y')
      local real, copied = string.gsub(key, '^([^:]*)%-dry%-[^:]*', '%1', 1)
      if not charge and copied == 1 then charge = redis.call('HGET', real, 'y') end
      whose[message] = charge and string.match(charge, '^%S+') == account or false
      spent = spent + 4
    end
    return whose[message]
  end
end
