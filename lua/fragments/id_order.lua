-- id_order: the order of ids that have the same time in a sorted set.

-- id_at_or_before reports whether a comes before b or equals b. It compares bytes, as a sorted set
-- does; "<=" would depend on the server's language.
local function id_at_or_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a <= #b
end
