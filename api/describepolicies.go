package api

// policyDescriptions returns the descriptions of the members of policies, of users'
// settings, and of refits.
func policyDescriptions() map[string]string {
	return map[string]string{
		"Policy.name":           "1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address.",
		"Policy.time_zone":      "The IANA time zone of calendar rules and quiet hours; by default UTC.",
		"Policy.user_time_zone": "Whether calendar rules count in the user's own time zone, if it is set.",
		"Policy.rules":          "At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A message must fit all.",
		"Policy.quiet_hours":    "When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00.",
		"Policy.only":           "The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by default all.",
		"Policy.blackouts":      "Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every year, 2027-04-02..2027-04-05, or the name of a calendar.",
		"Policy.calendars":      "Lists of dates by name, which blackouts can name. A name begins with a letter.",
		"Policy.reach":          "How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as the program allows.",
		"Policy.on_conflict":    "refuse or shift, for a message without its own on_conflict whose time is not free; by default refuse.",
		"Policy.account_share":  "What percentage of each rule one account may use up for a user where several accounts are active, such as 50%, rounded up; by default all. It is judged when a message is submitted or moved.",
		"Policy.alert_at":       "Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and 100, empty is never.",
		"Policy.alert_to":       "Who receives a list of users that reached such a percentage, once an hour: an e-mail address or an https: URL.",
		"Policy.categories":     "Rules for messages of a category, by its name.",
		"Policy.version":        "Differs after each change. Ignored in a request: If-Match names the version to replace.",

		"CategoryDocument.rules":    "Rules that count only messages of the category, at most one for each window, in addition to those of the policy.",
		"Policy.unknown_categories": "refuse or allow, for a message of a category that the policy does not name; by default refuse if it names any.",

		"CategoryDocument.exempt": "Whether rules and quiet hours do not apply to its messages.",
		"CategoryDocument.counts": "Whether its messages count in the policy's rules. Only an exempt category may have false.",

		"Policy.changes":             "Changes for the send times of some dates, at most one to each time.",
		"ChangeDocument.from":        "The first send time: RFC 3339, or a date, which begins at midnight in the policy's time zone; absent for no begin.",
		"ChangeDocument.until":       "The end of the send times, which is not included; absent for no end.",
		"ChangeDocument.rules":       "The rules then; absent for those of the policy.",
		"ChangeDocument.quiet_hours": "The quiet hours then; absent for those of the policy.",
		"ChangeDocument.only":        "The only hours then; absent for those of the policy.",
		"ChangeDocument.blackouts":   "The blackout dates then; absent for those of the policy.",
		"ChangeDocument.categories":  "All categories then; absent for those of the policy.",

		"CategoryDocument.quiet_hours": "When none of its messages are sent, in place of the policy's quiet_hours.",
		"CategoryDocument.only":        "The only hours at which its messages are sent, in place of the policy's only.",
		"CategoryDocument.blackouts":   "Dates on which none of its messages are sent, in place of the policy's blackouts.",

		"CategoryDocument.throttle": "How many messages of the category all users of the policy together get in a minute or an hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has none.",

		"UserSettings.categories":  "The user's own rules of categories, by name. They replace the rules of the category with the same windows; others apply beside those.",
		"UserSettings.opt_out":     "Categories that the user does not want. Their messages are refused, and scheduled ones are dropped at their send time.",
		"UserSettings.quiet_hours": "The user's own quiet hours, beside those of the policy.",
		"UserSettings.contact":     "Who is alerted when a daily rule is full; empty for nobody.",
		"UserSettings.policy":      "The name of the user's policy; empty for default.",
		"UserSettings.limits":      "Rules that replace the policy's rules with the same windows.",
		"UserSettings.time_zone":   "The user's IANA time zone; empty for the policy's.",
		"UserSettings.blocked":     "Whether no more messages are accepted for the user.",
		"UserSettings.effective":   "The rules that apply to the user. null if the policy does not exist: then nothing is accepted.",

		"EffectiveRules.policy":          "The name of the policy.",
		"EffectiveRules.version":         "The version of the policy.",
		"EffectiveRules.time_zone":       "The time zone in which calendar rules count.",
		"EffectiveRules.rules":           "All rules; those of categories come last.",
		"EffectiveRules.exempt":          "Categories to which no rule applies.",
		"EffectiveRules.quiet_hours":     "When nothing is sent, except messages of categories in quiet: hours, allowed hours after the word only, and dates after the word blackout.",
		"EffectiveRules.quiet":           "When nothing is sent of categories with quiet times of their own.",
		"EffectiveRules.changes":         "What changes for the send times of some dates.",
		"EffectiveRules.opt_out":         "Categories that the user does not want.",
		"CategoryQuiet.category":         "The category's name.",
		"CategoryQuiet.quiet_hours":      "When none of its messages are sent.",
		"EffectiveRules.quiet_time_zone": "The time zone of the quiet hours.",

		"EffectiveRule.category":    "The category whose messages the rule counts; absent if it counts all messages.",
		"EffectiveRule.from":        "policy, or user if it is in the user's settings.",
		"EffectiveRule.replaces":    "The policy's rule that it replaces; absent of a user's limit that applies beside the policy's rules, since the policy has none of its window.",
		"CategoryDocument.accounts": "The accounts that may submit messages of the category; empty for all. Messages of other accounts are refused with category_reserved.",
		"ExemptCategory.category":   "The category's name.",
		"ExemptCategory.counts":     "Whether its messages count in the policy's rules.",

		"PolicyDeletion.outcome": "deleted",

		"Misfit.outcome":     "misfit in a preview; otherwise moved, cancelled, kept if nothing could be done, or gone if it was sent, moved or cancelled meanwhile.",
		"Misfit.code":        "Why the message was kept.",
		"Misfit.send_at":     "The send time; of a moved message, the new one.",
		"Misfit.moved_from":  "The send time that did not fit.",
		"Misfit.breaks":      "The rule that the message would break, after the name of the category if it has one; or quiet_hours.",
		"Misfit.quiet_hours": "The quiet hours that contain the send time.",

		"RefitSummary.outcome":         "previewed or refitted. The summary is the last line, or the line before an error.",
		"RefitSummary.policy":          "The name of the policy.",
		"RefitSummary.version":         "The version of the policy; absent in a preview.",
		"RefitSummary.then":            "What was done: shift or cancel; absent in a preview.",
		"RefitSummary.users":           "Users of the policy with scheduled messages.",
		"RefitSummary.reservations":    "Their messages that were checked.",
		"RefitSummary.misfit_users":    "Users with messages that do not fit.",
		"RefitSummary.misfits":         "Messages that do not fit.",
		"RefitSummary.misfits_by_rule": "Messages that do not fit, by the rule that they would break.",
		"RefitSummary.moved":           "Messages that were moved.",
		"RefitSummary.cancelled":       "Messages that were cancelled.",
		"RefitSummary.kept":            "Messages for which nothing could be done: they are sent as promised.",
		"RefitSummary.gone":            "Messages that were sent, moved or cancelled meanwhile.",
		"RefitSummary.baseline":        "The same of the policy that is stored, in a preview of another one.",
		"RefitSummary.limit_users":     "Users with a limit of their own that replaces no rule of the policy, and applies beside its rules.",
		"RefitSummary.unclear_users":   "Users that were skipped, since their settings name a policy that does not exist.",
		"RefitSummary.first_partition": "The part of the store at which it continued after an earlier run, whose figures it includes.",
		"RefitSummary.next_partition":  "The next part of the store. When all are done, the number of parts.",

		"RefitProgress.outcome": "progress",
	}
}
