-- scores: where a new message comes in the index, a word of its call: "" for no entry, else the
-- score among the ids, "." for none, and if it has a campaign, the score among the campaigns.
--
-- Needs scores. Defines id_score and campaign_score, nil for none.
local id_score, campaign_score = scores ~= '' and scores, nil
if string.find(scores, ' ', 1, true) then
  id_score, campaign_score = string.match(scores, '^(%S+) (%S+)$')
  if id_score == '.' then id_score = nil end
end
