-- replacement: lets a request replace the pending message with its id.
--
-- The message is another one from then on: only its accept, its history, its count of moves and its
-- earlier charges stay. It is judged without its own place. The parts of the choice for it are
--
--   mode       "+" creates a message if there is none to replace, "=" only replaces
--   former     attempt that last charged the message, "." for none, see fragments/held.lua
--   from       send time of the message, Unix ms; "." for none, or for any without a charge
--   account    of the request, "." for none: it replaces only its own messages
--   most       how many moves the message may make in a minute
--   horizon    how long before its time a message is handed over, ms
--   listening  see fragments/event.lua; may be empty
--
-- Needs replaces, see fragments/choice.lua, and record.
local only_replaces, former_attempt, former_at, listening -- parts of the choice
local replaced -- the message to replace; nil for none
local find_replaced, moved_often -- nil if the request replaces none
local read_too = {nil} -- further fields of the record that known reads for find_replaced
if replaces ~= '' then
--@include progress
--@include moves
  local mode, account, most, ahead
  mode, former_attempt, former_at, account, most, ahead, listening =
    string.match(replaces, '^(%S) (%S+) (%S+) (%S+) (%S+) (%S+) ?(.*)$')
  only_replaces = mode == '='
  if former_attempt == '.' then former_attempt = '' end
  if former_at == '.' then former_at = '' end

  read_too = {'z', 'a', 'd', 'j', 'A', 'D', 'q', 'o', 'k', 'C', 'H'}

  -- find_replaced reads the message that has the id from the fields that known has read. If it can't
  -- be replaced, it returns the answer.
  function find_replaced(asked, r)
    if account_of(r[8]) ~= (account == '.' and '' or account) then return {ID_REUSED, now, asked, 0} end
    local at = tonumber(r[3])
    if state_of(r[1], r[2]) ~= PENDING or has_reached(r[16]) or r[17] then return {TOO_LATE, now, at, 0} end
    replaced = {generation = r[2], at = at, charged = r[8], was_beside = r[11], due = tonumber(r[12]) or at,
      moves_since = r[13], moves = r[14], accepted = r[15], nonce = r[18], former = {r[8], r[19], r[20]},
      changes = tonumber(r[21] or 0)}
    q.excluded[id] = true
  end

  -- moved_often refuses a place if the message was moved too often within the horizon. Otherwise it
  -- counts the move.
  function moved_often(at)
    if not replaced or not costs_queue(replaced.at, at, tonumber(ahead)) then return nil end
    if not replaced.moves or now - replaced.moves_since >= MINUTE then replaced.moves, replaced.moves_since = 0, now end
    if tonumber(replaced.moves) >= tonumber(most) then
      return {MOVED_OFTEN, now, at, 0, replaced.moves_since + MINUTE}
    end
    replaced.moves = replaced.moves + 1
  end
end
