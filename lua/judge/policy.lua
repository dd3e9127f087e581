-- policy: the parts of the policy word that matter once a time must be judged.
--@include judge/arguments
local scope_words, alerts, offsets, quiet_at = string.match(ARGV[3], '^([^\n]*)\n([^\n]*)\n([^\n]*)\n()', scope_at)
local quiet = string.sub(ARGV[3], quiet_at)
local share_account, percent_word = string.match(share_words, '^ %d+ (%S+) (%S+)$')
local share_percent = tonumber(percent_word or '')
local during_from, during_till = -math.huge, math.huge
local during_at = string.find(offsets, '|', 1, true)
if during_at then
  local from, till = string.match(offsets, '(%S+) (%S+)', during_at + 1)
  during_from, during_till = tonumber(from) or during_from, tonumber(till) or during_till
  offsets = string.sub(offsets, 1, during_at - 1)
end
