-- watch_suffix: spells the watch members of other messages of the same user.
--
-- It does what keyspace.WatchSuffix does: a UUID is packed. Needs the locals of
-- message/claim.lua. Defines user, and suffix_of, which returns what follows the generation
-- in the watch member of a message.
local suffix_of
local user = string.match(timeline, '^[^}]*}:u:(.*)$')
do
  local BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

  -- packed returns "~" and the 16 bytes of a UUID in base64; nil for any other text.
  local function packed(text)
    local hex = table.concat({string.match(text, '^(%x+)%-(%x+)%-(%x+)%-(%x+)%-(%x+)$')})
    if #text ~= 36 or #hex ~= 32 or string.find(text, '%u')
        or string.byte(text, 9) ~= 45 or string.byte(text, 14) ~= 45 or string.byte(text, 19) ~= 45
        or string.byte(text, 24) ~= 45 then
      return nil
    end
    hex = table.concat({hex, '0000'})
    local out = {'~'}
    for k = 1, 31, 6 do -- three bytes are four characters, the last byte is two
      local bits = tonumber(string.sub(hex, k, k + 5), 16)
      for shift = 3, k < 31 and 0 or 2, -1 do
        local index = (bits - bits % 64 ^ shift) / 64 ^ shift % 64 + 1
        out[#out + 1] = string.sub(BASE64, index, index)
      end
    end
    return table.concat(out)
  end

  local ending = packed(user) or table.concat({'/', user})

  function suffix_of(other)
    return table.concat({'/', packed(other) or other, ending})
  end
end
