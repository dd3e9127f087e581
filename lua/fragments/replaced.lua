-- replaced: writes a message that replaces another one, see fragments/replacement.lua.
--@include content
--@include metadata
--@include event
--@include history

-- keep_of_replaced sets the fields that the record keeps.
local function keep_of_replaced(set)
  local names = {'o', 'H'}
  for digit in string.gmatch('0123456789abcdef', '.') do names[#names + 1] = table.concat({'h', digit}) end
  local values = redis.call('HMGET', record, 'd', 'j', unpack(names))
  if replaced.counts then values[1], values[2] = replaced.moves_since, replaced.moves end
  for k, name in ipairs({'d', 'j', unpack(names)}) do
    if values[k] then set(name, values[k]) end
  end
  set('X', 1)
end

-- finish_replacement notes the change, and removes what is left of the former message. The watch
-- entry goes last.
local function finish_replacement(at)
  note_history(record, 'e', {to = at, from = replaced.at})
  note_event(listening, record, nil, string.match(timeline, '^[^}]*}:%l:(.*)$'), id, 'replaced', at, replaced.at)
  local former_generation, set = replaced.generation, replaced.was_beside and '%1x:' or '%1u:'
  local former = string.gsub(timeline, '^([^}]*}:)%l:', set, 1)
  if former ~= timeline then redis.call('ZREM', former, id) end
  remove_entry(letter, former_generation .. suffix)
end
