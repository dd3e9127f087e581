package worldtest

import (
	"os"
	"strings"
)

// Feature is a part of the product, or a kind of fault, that a world may have. Each world has some
// of them: features of all worlds would hide the others.
type Feature string

// The features.
const (
	Devices        Feature = "devices"
	Accounts       Feature = "accounts"
	Categories     Feature = "categories"
	QuietHours     Feature = "quiet hours"
	DatedChanges   Feature = "dated changes"
	PolicyChanges  Feature = "policy changes"
	Campaigns      Feature = "campaigns"
	Moves          Feature = "moves"
	Operators      Feature = "operators" // refits, erasures, dead letters
	Flood          Feature = "flood"
	StoreFaults    Feature = "store"
	LostReplies    Feature = "lost replies"
	Clock          Feature = "clock"
	Stops          Feature = "stops"
	QueueLoss      Feature = "queue loss"
	ProviderFaults Feature = "provider"
	Edits          Feature = "edits"
	UserSettings   Feature = "settings of users"
	Bulk           Feature = "bulk"
	Paces          Feature = "paces"
	WrongClocks    Feature = "wrong clocks" // of single processes
	MastersApart   Feature = "masters apart"
	RefusedUsers   Feature = "refused users" // a provider takes only the messages of others
	LateSubmits    Feature = "late submits"  // of messages whose send time has passed
	Windows        Feature = "windows"
	Travels        Feature = "travels"       // of users whose messages keep their local times
	MovingPhones   Feature = "moving phones" // from user to user

	// Those that follow are rare: they make worlds longer, or much of them an outage.
	LongRetries    Feature = "a long wait for a retry beside an expiry"
	LongPauses     Feature = "a long pause of a channel beside an expiry"
	ShorterWindows Feature = "shorter windows for a moment"
	OneChannelAway Feature = "one channel away while others work"
	ThrottledDates Feature = "full throttles with dated changes and shifts"
	FullDays       Feature = "full days with shifts"
	HourlyQuotas   Feature = "hourly quotas with shifts"

	// Those that follow need servers: see Config.With.
	PowerCuts Feature = "power cuts"
	TornTwice Feature = "power cuts before another restart"
)

func allFeatures() []Feature {
	return []Feature{
		Devices, Accounts, Categories, QuietHours, DatedChanges, PolicyChanges, Campaigns, Moves, Operators, Flood,
		StoreFaults, LostReplies, Clock, Stops, QueueLoss, ProviderFaults, Edits, UserSettings, Bulk, Paces, WrongClocks, MastersApart,
		RefusedUsers, LateSubmits, MovingPhones, Windows, Travels,
	}
}

func rareFeatures() []Feature {
	return []Feature{LongRetries, LongPauses, ShorterWindows, OneChannelAway, ThrottledDates, FullDays, HourlyQuotas}
}

// featuresEnv names the features of all worlds, between commas, instead of drawn ones.
const featuresEnv = "SENDLIMIT_TEST_WORLD"

// Asked returns the features that the environment asks for, for Config.Features; nil for none.
func Asked() (features []Feature) {
	if text := os.Getenv(featuresEnv); text != "" {
		for f := range strings.SplitSeq(text, ",") {
			features = append(features, Feature(f))
		}
	}
	return features
}
