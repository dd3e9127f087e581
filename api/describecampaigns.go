package api

// campaignDescriptions are those of the members of requests and answers about campaigns.
func campaignDescriptions() map[string]string {
	return map[string]string{
		"CampaignStatus.campaign":     "The campaign's name.",
		"CampaignStatus.account":      "The account whose campaign it is; absent without accounts.",
		"CampaignStatus.paused_since": "Since when it is paused; absent if it is not.",
		"CampaignStatus.messages":     "How many messages it has, or with more, how many were counted so far.",
		"CampaignStatus.statuses":     "How many of them have each status; a status that none has is absent.",

		"CampaignStatus.more": "Set if only these messages were counted so far. GET with it as the parameter more goes on, and answers with these too.",

		"CampaignProgress.messages_done": "How many messages were looked at, those of an earlier request included.",
		"CampaignProgress.messages":      "How many messages the campaign has; before the first is done, how many were counted so far.",

		"CampaignSummary.campaign":   "The campaign's name.",
		"CampaignSummary.account":    "The account whose campaign it is; absent without accounts.",
		"CampaignSummary.by":         "The length of time of a move.",
		"CampaignSummary.messages":   "How many messages were looked at.",
		"CampaignSummary.done":       "How many were cancelled, moved or resumed, or with preview could be moved.",
		"CampaignSummary.refused":    "How many were refused, and keep their places.",
		"CampaignSummary.refused_by": "The refused messages counted by the rule that they would break, or else by the code of the refusal.",
		"CampaignSummary.gone":       "How many were sent, moved or cancelled by somebody else meanwhile.",
		"CampaignSummary.continued":  "It went on with an earlier request, whose messages are counted too.",
		"CampaignSummary.complete":   "False if it stopped early: the same request goes on.",

		"CampaignMoveDraft.by":      "By how long: 1h, 90m or -30m. A negative length moves to earlier times. At most 8784h, of whole milliseconds.",
		"CampaignMoveDraft.preview": "Only say what the outcome would be.",
	}
}
