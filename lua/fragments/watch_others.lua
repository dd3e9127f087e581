-- watch_others: builds watch members of other messages of the same user, and removes them.
--
-- It does the same as keyspace.WatchSuffix and Keys.Far. Needs the locals of message/claim.lua.
-- Defines suffix_of, which returns what follows the generation in the watch member of a
-- message; and remove_entry, which removes an entry from the list that has it.
local suffix_of, remove_entry
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

  -- far_of returns the key of the far list of a message. Only the last four bits of FNV-1a count,
  -- and they depend on no others.
  local function far_of(other)
    local hash = 5
    for k = 1, #other do
      local byte, mixed, value = string.byte(other, k) % 16, 0, 1
      for _ = 1, 4 do
        if hash % 2 ~= byte % 2 then mixed = mixed + value end
        hash, byte, value = (hash - hash % 2) / 2, (byte - byte % 2) / 2, 2 * value
      end
      hash = mixed * 3 % 16
    end
    return table.concat({prefix, 'far:', string.sub('0123456789abcdef', hash + 1, hash + 1)})
  end

  function remove_entry(other, entry)
    if call('ZREM', near_list, entry) == 0 then call('ZREM', far_of(other), entry) end
  end
end
