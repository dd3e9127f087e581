-- paused: which campaigns are paused.
--
-- Their messages keep their places, which count, and are not sent. Needs account_of, and the paused
-- campaigns in ARGV[12].
local is_paused
do
  local campaigns = ARGV[12]

  -- is_paused reports whether the campaign of a message with the charge y is paused.
  function is_paused(campaign, y)
    if campaigns == '' or not campaign then return false end
    return string.find(campaigns, table.concat({' ', account_of(y), '/', campaign, ' '}), 1, true) ~= nil
  end
end
