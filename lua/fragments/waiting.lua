-- waiting: a user's messages that were late and wait for their later places.
--
-- A member of the set is the id of a message, followed by a space and its category if it has one.
-- So the class of a message is known without its record. No id has a space, or any byte before
-- that: members with the same time are in the order of the ids. Some messages have ended since, and
-- an id may have another category by now.

local function waiting_member(message, category)
  return category and table.concat({message, ' ', category}) or message
end

-- waiting_in returns the id and the category of a member, false for none.
local function waiting_in(member)
  local space = string.find(member, ' ', 1, true)
  if not space then return member, false end
  return string.sub(member, 1, space - 1), string.sub(member, space + 1)
end
