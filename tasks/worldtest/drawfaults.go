package worldtest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// shorterWindows applies a policy with short windows for a moment, soon after a user got messages,
// and submits more when the former policy is back. The store trims a timeline in one of 16
// milliseconds.
func (d *drawer) shorterWindows() {
	short := Rules{Name: policy.DefaultName, Zone: d.Policies[0].Zone, Rules: []string{d.window(5, 0.2)}}
	for n := range 3 {
		at, user := (d.Unit + d.Length*time.Duration(n)/4).Truncate(16*time.Millisecond), fmt.Sprintf("brief-%d", n)
		d.Users = append(d.Users, User{Name: user})
		send := func(after time.Duration) {
			e := d.message((at + after).Truncate(16 * time.Millisecond))
			e.Do, e.User, e.SendAt, e.Category, e.Shift, e.Expires = Submit, user, e.At+d.Unit/60, CategoryNone, true, 0
			d.add(e)
		}
		for k := range 4 {
			send(d.Unit * time.Duration(k) / 3)
		}
		d.add(Event{At: at + d.Unit*5/2, Do: ApplyPolicy, Policy: &short})
		send(d.Unit * 26 / 10)
		d.add(Event{At: at + d.Unit*27/10, Do: Rollback, Name: policy.DefaultName})
		for range 4 {
			send(d.Unit * 28 / 10)
		}
	}
}

// fullHours lets an account use up an hour, and ask for a time right before it that is not free.
func (d *drawer) fullHours() {
	const hour = time.Hour
	full, taken := "full", d.user()
	d.Accounts = append(d.Accounts, Account{Name: full, PerHour: 3, PerDay: 100})
	for n := range 3 {
		d.add(Event{At: 0, Do: Submit, User: fmt.Sprintf("full-%d", n), ID: "a", Account: full, SendAt: hour + d.upTo(d.Unit)})
		d.Users = append(d.Users, User{Name: fmt.Sprintf("full-%d", n)})
	}
	d.Users = append(d.Users, User{Name: "busy"})
	for n := range 3 {
		d.add(Event{At: 0, Do: Submit, User: "busy", ID: fmt.Sprintf("b%d", n), SendAt: hour - 2*time.Second - d.Unit*time.Duration(n)/2})
	}
	d.add(Event{At: d.Unit, Do: Submit, User: "busy", ID: "c", Account: full, SendAt: hour - time.Second, Follow: true})
	d.add(Event{At: 2 * d.Unit, Do: Submit, User: taken, ID: "d", Account: full, SendAt: hour + d.Unit, Shift: true})
}

// throttleDates gives a policy a throttle by the hour, and other rules from shortly before the end
// of the first hour on.
func (d *drawer) throttleDates(r *Rules) {
	const hour = time.Hour
	r.Zone, r.Throttle = "", fmt.Sprintf("%d/hour", 3+d.random.IntN(3))
	r.Dated = []Dated{{Span{hour - 2*d.Unit - d.upTo(4*d.Unit), hour + d.upTo(d.Length)}, []string{d.window(1, 0.5), d.window(2, 3), "60/calendar_day"}}}
}

// fullThrottles uses up the first hour of a throttle, and has several callers at a time want a
// place in it for the same user, or one of the first of the next hour, which has other rules.
func (d *drawer) fullThrottles() {
	const hour = time.Hour
	submit := func(at time.Duration, user string, until time.Duration) {
		d.ids++
		d.add(Event{
			At: at, Do: Submit, User: user, ID: fmt.Sprintf("t%03d", d.ids), Category: CategoryOffers,
			SendAt: hour - 8*d.Unit - d.upTo(d.Unit), Shift: true, Until: until,
		})
	}
	for n := range 6 {
		user := fmt.Sprintf("offered-%d", n)
		d.Users = append(d.Users, User{Name: user})
		submit(0, user, hour-d.Unit)
	}
	for n := range 3 {
		at, user := d.Unit+d.upTo(hour/2), fmt.Sprintf("wanting-%d", n)
		d.Users = append(d.Users, User{Name: user})
		for range 2 + d.random.IntN(3) {
			submit(at, user, hour+d.upTo(d.Unit/2)+time.Second)
		}
	}
}

// faults draws the failures.
func (d *drawer) faults() {
	lasts := func() time.Duration {
		return []time.Duration{d.Unit / 15, d.Unit / 2, 3 * d.Unit}[d.random.IntN(3)]
	}
	some := func(f Feature, most int, event func() Event) {
		if d.Has(f) {
			for range 1 + d.random.IntN(most) {
				e := event()
				e.At = d.Unit + d.upTo(d.Length)
				d.add(e)
			}
		}
	}
	some(StoreFaults, 3, func() Event { return Event{Do: StoreAway, Lasts: time.Second + d.upTo(lasts())} })
	some(StoreFaults, 2, func() Event {
		return Event{Do: StoreSlow, Lasts: d.upTo(lasts()) + time.Second, By: d.upTo(400 * time.Millisecond)}
	})
	some(LostReplies, 6, func() Event { return Event{Do: LoseReply, Call: d.random.IntN(60), After: d.oneIn(2)} })
	some(Clock, 1, func() Event {
		return Event{Do: ClockAhead, Lasts: d.Unit + d.upTo(3*d.Unit), By: 5*time.Minute + d.upTo(30*time.Hour)}
	})
	some(Stops, 5, func() Event { return Event{Do: StopWorker, Call: d.random.IntN(80), After: d.oneIn(2)} })
	some(Stops, 3, func() Event { return Event{Do: StopCaller, Call: d.random.IntN(20), After: d.oneIn(2)} })
	some(Stops, 1, func() Event { return Event{Do: NoWorkers, Lasts: d.upTo(lasts()) + time.Second} })
	some(QueueLoss, 2, func() Event { return Event{Do: LoseQueue} })
	for _, f := range []Feature{PowerCuts, TornTwice} {
		some(f, 2, func() Event { return Event{Do: PowerCut} })
	}
	some(ProviderFaults, 4, func() Event {
		e := Event{Do: Channel, Channel: d.channel(), Lasts: time.Second + d.upTo(lasts())}
		e.Behaviour = []Behaviour{Unavailable, SlowsDown, Limits, RefusesAll, Hangs, Resets, AnswerLost, Rejects, TakesTime}[d.random.IntN(9)]
		e.By = time.Second + d.upTo(d.Unit/4)
		if e.Behaviour == TakesTime { // less than a push may take
			e.By, e.Lasts = 500*time.Millisecond+d.upTo(1500*time.Millisecond), d.Unit
		}
		return e
	})
	if d.Has(ProviderFaults) {
		d.refusedUnanswered()
	}
	if d.Has(StoreFaults) {
		d.settledInVain()
	}
	if d.Has(OneChannelAway) {
		at := d.Unit + d.upTo(d.Length/3)
		d.add(Event{At: at, Do: Channel, Channel: notifier.ChannelFCM, Behaviour: []Behaviour{RefusesAll, Unavailable}[d.random.IntN(2)], Lasts: 8 * d.Unit})
		for k := range 6 {
			e := d.message(at)
			e.Do, e.User, e.SendAt, e.Shift, e.Expires = Submit, d.Users[0].Name, at+d.Unit*time.Duration(k+1), true, 0
			d.add(e)
		}
	}
	some(RefusedUsers, 2, func() Event {
		return Event{Do: RefuseUser, User: d.Users[d.random.IntN(min(2, len(d.Users)))].Name, Lasts: d.Unit + d.upTo(d.Length)}
	})
	long := func(behaviour Behaviour, least, most time.Duration) func() Event {
		return func() Event {
			return Event{Do: Channel, Channel: notifier.ChannelWebhook, Behaviour: behaviour, Lasts: 5 * d.Unit, By: least + d.upTo(most-least)}
		}
	}
	some(LongRetries, 2, long(Limits, 40*d.Unit, 140*d.Unit))
	some(LongPauses, 1, long(SlowsDown, 15*d.Unit, 30*d.Unit))
	some(Devices, 4, func() Event {
		return Event{Do: AddDevices, Account: PhonesAccount, Name: fmt.Sprintf("p%d", d.random.IntN(3)), Together: 2 + d.random.IntN(5)}
	})
	some(Devices, 2, func() Event {
		return Event{Do: RemoveDevices, Account: PhonesAccount, Name: fmt.Sprintf("p%d", d.random.IntN(3)), Together: 2 + d.random.IntN(5)}
	})
	if d.Has(Devices) && d.Has(ProviderFaults) {
		for _, u := range d.Users {
			if len(u.Devices) > 1 && d.oneIn(4) {
				d.add(Event{At: d.upTo(d.Length), Do: LoseDevice, User: u.Name, Name: u.Devices[0]})
			}
		}
	}
}

// refusedUnanswered makes a channel accept messages without an answer for a moment, and refuse their
// retries for good: these messages may have arrived.
func (d *drawer) refusedUnanswered() {
	for _, e := range d.Events {
		if e.Do == Submit && e.SendAt > d.Unit && e.SendAt < 2*d.Length && d.oneIn(20) {
			at, channel := e.SendAt-d.Unit/60, d.channel()
			d.add(Event{At: at, Do: Channel, Channel: channel, Behaviour: AnswerLost, Lasts: d.Unit / 20})
			d.add(Event{At: at + d.Unit/20 + time.Millisecond, Do: Channel, Channel: channel, Behaviour: Rejects, Lasts: d.Unit / 3})
		}
	}
}

// settledInVain makes the store fail when the results of pushes are recorded.
func (d *drawer) settledInVain() {
	for _, e := range d.Events {
		if e.Do == Submit && e.SendAt > d.Unit && e.SendAt < 2*d.Length && d.oneIn(20) {
			slow := time.Second
			d.add(Event{At: e.SendAt - d.Unit/60, Do: Channel, Channel: d.channel(), Behaviour: TakesTime, By: slow, Lasts: d.Unit / 15})
			d.add(Event{At: e.SendAt + slow/2, Do: StoreAway, Lasts: slow + d.upTo(d.Unit/15)})
		}
	}
}

// channel draws a channel that delivers in this world.
func (d *drawer) channel() string {
	if !d.HasDevices() {
		return notifier.ChannelWebhook
	}
	return []string{notifier.ChannelWebhook, notifier.ChannelFCM, notifier.ChannelAPNs}[d.random.IntN(3)]
}
