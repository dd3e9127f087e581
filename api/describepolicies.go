package api

// policyDescriptions say what the members of policies are, of what is set for users,
// and of what is told of messages that do not fit a policy.
func policyDescriptions() map[string]string {
	return map[string]string{
		"Policy.name":           "1 to 64 of a-z 0-9 _ - In a request it may be left out, as the address has it.",
		"Policy.time_zone":      "The IANA time zone of calendar rules and quiet hours; by default UTC.",
		"Policy.user_time_zone": "Calendar rules count in the user's own time zone, where one is set.",
		"Policy.rules":          "At least one rule, such as 5/hour or 10/calendar_day, and one for each window: all have to hold.",
		"Policy.quiet_hours":    "When nothing is sent, by the clocks of the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00.",
		"Policy.reach":          "How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as the program allows.",
		"Policy.on_conflict":    "What becomes of a message that does not say so itself and whose time is not free; by default refuse.",
		"Policy.alert_at":       "Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and 100, empty is never.",
		"Policy.alert_to":       "Who is told once an hour of users that reached one: an e-mail address or an https: URL.",
		"Policy.categories":     "What is different for messages of a category, by its name.",
		"Policy.version":        "Another one after each change. In a request it is passed over: If-Match says which is to be replaced.",

		"CategoryDocument.rules":  "Rules that count the messages of the category alone, one for each window, and hold beside the policy's.",
		"CategoryDocument.exempt": "Neither rules nor quiet hours judge its messages.",
		"CategoryDocument.counts": "Whether its messages count for the others; false only beside exempt.",

		"UserSettings.contact":   "Who is told when a daily rule is full; empty for nobody.",
		"UserSettings.policy":    "The name of the user's policy; empty for that of everybody else.",
		"UserSettings.limits":    "Rules in place of those of the policy that have the same window.",
		"UserSettings.time_zone": "The user's IANA time zone; empty for that of the policy.",
		"UserSettings.blocked":   "Nothing more is accepted for the user.",
		"UserSettings.effective": "What holds for the user; null where there is no such policy, and then nothing is accepted.",

		"EffectiveRules.policy":          "The name of the policy.",
		"EffectiveRules.version":         "The version of the policy.",
		"EffectiveRules.time_zone":       "The time zone in which calendar rules count.",
		"EffectiveRules.rules":           "All rules, those of categories last.",
		"EffectiveRules.exempt":          "Categories whose messages nothing judges.",
		"EffectiveRules.quiet_hours":     "When nothing is sent.",
		"EffectiveRules.quiet_time_zone": "The time zone whose clocks they go by.",
		"EffectiveRules.without_effect":  "Limits of the user that replace no rule, since the policy has none of that window any more.",

		"EffectiveRule.category":  "The category whose messages it counts; absent of a rule that counts all.",
		"EffectiveRule.from":      "policy, or user where it is set for the user.",
		"EffectiveRule.replaces":  "The policy's rule that it stands for.",
		"ExemptCategory.category": "The category's name.",
		"ExemptCategory.counts":   "Whether its messages count for the others.",

		"Misfit.outcome":     "misfit, of a preview; moved, cancelled, kept where nothing could be done, or gone where somebody else was quicker.",
		"Misfit.code":        "Why it was kept.",
		"Misfit.send_at":     "The send time; once moved, the new one.",
		"Misfit.moved_from":  "Where it did not fit.",
		"Misfit.breaks":      "The rule that it would break, behind its category where it is of one, or quiet_hours.",
		"Misfit.quiet_hours": "The quiet stretch that it is in.",

		"RefitSummary.outcome":         "previewed or refitted; it is the last line, or the one before an error.",
		"RefitSummary.policy":          "The name of the policy.",
		"RefitSummary.version":         "The version of the policy; absent of a preview.",
		"RefitSummary.then":            "What was done: shift or cancel; absent of a preview.",
		"RefitSummary.users":           "Users of the policy who have messages still to be sent.",
		"RefitSummary.reservations":    "Messages of theirs that were looked at.",
		"RefitSummary.misfit_users":    "Users who have messages that do not fit.",
		"RefitSummary.misfits":         "Messages that do not fit.",
		"RefitSummary.misfits_by_rule": "Messages that do not fit, by what they would break.",
		"RefitSummary.moved":           "Messages that were moved.",
		"RefitSummary.cancelled":       "Messages that were cancelled.",
		"RefitSummary.kept":            "Messages of which nothing could be done: they are sent as they were promised.",
		"RefitSummary.gone":            "Messages that were sent, moved or cancelled by somebody else meanwhile.",
		"RefitSummary.unclear_users":   "Users who were passed over, since their settings name a policy that is not there.",
		"RefitSummary.first_partition": "The part of the store that it went on with, after an earlier run.",
		"RefitSummary.next_partition":  "The part that is next: as many as there are, where it is through.",

		"RefitProgress.outcome": "progress",
	}
}
