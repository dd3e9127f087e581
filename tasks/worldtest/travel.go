package worldtest

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Users travel between two zones. Neither changes its clocks.
const (
	homeZone = "Asia/Kolkata" // also that of all policies
	awayZone = "Asia/Kathmandu"

	home = 5*time.Hour + 30*time.Minute // ahead of UTC
	away = home + earlier
	// earlier is how much earlier a local time is in awayZone.
	earlier = 15 * time.Minute
)

// in returns a time in a zone, UTC for "".
func in(zone string, at time.Time) time.Time {
	switch zone {
	case homeZone:
		return at.In(time.FixedZone(zone, int(home.Seconds())))
	case awayZone:
		return at.In(time.FixedZone(zone, int(away.Seconds())))
	default:
		return at.UTC()
	}
}

// keeping returns the times of a message that keeps the local time that clocks show in homeZone at a
// time of whole seconds.
func keeping(at time.Time) *message.LocalTimes {
	text := in(homeZone, at).Format("2006-01-02T15:04:05")
	return &message.LocalTimes{SendAt: message.LocalTime{Local: text, Zone: message.ZoneUser}, FollowZone: true}
}

// maybeKeeps makes the send time one that a message keeps as a local time.
func (d *drawer) maybeKeeps(e *Event) {
	if !d.Has(Travels) || e.Window > 0 || e.Now || !d.oneIn(2) {
		return
	}
	e.Keeps = true
	if !d.oneIn(4) { // or it has passed in awayZone
		e.SendAt += earlier
	}
}

// zone draws the zone that settings of a user have.
func (d *drawer) zone() string {
	if !d.Has(Travels) {
		return ""
	}
	return []string{homeZone, awayZone}[d.random.IntN(2)]
}

func (d *drawer) then() policy.Then {
	return []policy.Then{"", policy.ThenKeep, policy.ThenShift, policy.ThenDrop}[d.random.IntN(4)]
}

// travels draws changes of users' zones.
func (d *drawer) travels() {
	if !d.Has(Travels) {
		return
	}
	for range 3 + d.random.IntN(6) {
		e := Event{At: d.upTo(d.Length), Do: Travel, User: d.user(), Zone: d.zone(), Then: d.then()}
		if d.oneIn(4) {
			e.Zone = "" // that of the policy
		}
		d.add(e)
	}
}
