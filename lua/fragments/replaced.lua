-- replaced: writes a message that replaces another one, see fragments/replacement.lua.
--@include content
--@include metadata
--@include event
--@include history

-- keep_of_replaced sets the fields that the record keeps, and notes the change. No other field of
-- the former message stays.
local function keep_of_replaced(set, at)
  local names = {nil}
  for k = 1, math.min(replaced.changes, 16) do names[k] = 'h' .. string.sub('0123456789abcdef', k, k) end
  local changes = names[1] and redis.call('HMGET', record, unpack(names)) or names
  for k = 1, #names do set(names[k], changes[k]) end
  set(note_history(record, 'e', {to = at, from = replaced.at}, replaced.changes + 1))
  set('H', replaced.changes + 1)
  if replaced.moves then
    set('d', replaced.moves_since)
    set('j', replaced.moves)
  end
  if replaced.nonce then set('o', replaced.nonce) end
  set('X', 1)
end

-- finish_replacement writes the event, and removes what is left of the former message. The watch
-- entry goes last.
local function finish_replacement(at)
  note_event(listening, record, nil, string.match(timeline, '^[^}]*}:%l:(.*)$'), id, 'replaced', at, replaced.at)
  local former_generation, set = replaced.generation, replaced.was_beside and '%1x:' or '%1u:'
  local former = string.gsub(timeline, '^([^}]*}:)%l:', set, 1)
  if former ~= timeline then redis.call('ZREM', former, id) end
  remove_entry(letter, former_generation .. suffix)
end
