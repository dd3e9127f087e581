package main

// raced returns, for each package that starts goroutines, the pattern of its tests that run under
// the race detector: those with concurrency. "in X" means that the listed tests of package X run
// its code. The other tests run without the race detector, in a sixth of the time.
func raced() map[string]string {
	const streams = "Stream|Follow|AtOnce|Turn|Stops|Attacks|InFlight|WithoutAGap|Flood|HalfClosed|KeepsNoBatchOpen|InProcess"
	return map[string]string{
		"api":       streams,
		"client":    "ABatchStreams|ABatchEnds|TheContextEnds",
		"dashboard": "Follow|Outlives",

		"internal/pipe": ".",

		"notifier/apns":    "Stream|Connections|ProviderToken|NobodyListens|GoAway",
		"notifier/fcm":     "Renewed",
		"notifier/logline": ".",
		"notifier/reload":  ".",
		"notifier/service": "Bounded",

		"records/forecast": "Look",
		"records/messages": "AtMany|Devices",
		"sendlimit/store":  "Node",

		"tasks": "TestStoreIsAsked|TestChangesAtOnce|TestRulesAreFirstLoaded|" +
			"TestRefitIsOneAtATime|HoldsUpNoOther|TestEraseAUserOfABatch|TestEventsAreGathered|TestWhoBeginsToListen|" +
			"TestWhatBecomesOfMessages|ShareHolds|TestManyAreSubmitted|AfterIdleness|ACancelledCampaign",
		"tasks/announce":            "in tasks",
		"tasks/backend":             "in tasks",
		"tasks/bulk":                "GroupsGive|GroupsEnd|GroupsStop|Beside",
		"tasks/callbacks":           ".",
		"tasks/campaign":            "in tasks",
		"tasks/channels":            "in tasks",
		"tasks/deliver":             "in tasks",
		"tasks/internal/batch":      ".",
		"tasks/internal/gather":     ".",
		"tasks/internal/job":        ".",
		"tasks/internal/storeclock": ".",
		"tasks/listen":              "in tasks",
		"tasks/queue":               "in tasks",
		"tasks/relay":               "in tasks",
		"tasks/submit":              "in tasks",
		"tasks/rules":               "in tasks",
		"tasks/overview":            "in tasks",
	}
}
