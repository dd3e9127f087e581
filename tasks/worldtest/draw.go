package worldtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Config says what to draw. Its zero value draws a world for virtual time.
type Config struct {
	Unit time.Duration // as in Plan; zero means a minute
	// Features are those of the world; nil draws them.
	Features []Feature
	Without  []Feature     // that a stage can't play
	With     []Feature     // that only this stage can play
	Length   time.Duration // as in Plan; zero draws it
}

// drawer draws a plan.
type drawer struct {
	Plan

	random *rand.Rand
	ids    int
}

// Draw draws the plan of a seed.
func Draw(seed uint64, c Config) Plan {
	d := &drawer{random: rand.New(rand.NewPCG(seed, 1))}
	d.Seed, d.Unit = seed, cmp.Or(c.Unit, time.Minute)
	for _, f := range slices.Concat(allFeatures(), rareFeatures(), c.With) {
		chance := 2
		if slices.Contains(rareFeatures(), f) {
			chance = 8
		}
		if drawn := d.oneIn(chance); (c.Features == nil && drawn || slices.Contains(c.Features, f)) && !slices.Contains(c.Without, f) {
			d.Features = append(d.Features, f)
		}
	}
	if d.Has(Clock) { // who starts meanwhile takes the clock as it is
		d.Features = slices.DeleteFunc(d.Features, func(f Feature) bool { return f == Stops })
	}
	d.Length = d.Unit * time.Duration(20+d.random.IntN(20)*d.random.IntN(5))
	d.Length = cmp.Or(c.Length, d.Length)
	if d.Has(HourlyQuotas) || d.Has(ThrottledDates) {
		d.Length = max(d.Length, time.Hour+10*d.Unit)
	}
	d.Workers = 1 + d.random.IntN(2)
	d.Skip = d.oneIn(4)
	d.Horizon = []time.Duration{max(2*d.Unit, sendlimit.DefaultHorizon), 10 * d.Unit, policy.DefaultReach}[d.random.IntN(3)]
	if d.Has(FullDays) {
		d.PlacesPerDay = 4 + d.random.IntN(6)
	}
	if d.Has(Paces) {
		d.Pace = fmt.Sprintf("%d/%ds", 3+d.random.IntN(5), max(1, int(d.Unit.Seconds()/3)))
	}
	if d.Has(WrongClocks) {
		for range 4 {
			d.Clocks = append(d.Clocks, []time.Duration{0, 40 * time.Millisecond, 3 * time.Second, -3 * time.Second, 90 * time.Minute, -90 * time.Minute}[d.random.IntN(6)])
		}
	}
	d.Masters = []time.Duration{0}
	if d.Has(MastersApart) {
		most := []int{8, 50}[d.random.IntN(2)]
		d.Masters = []time.Duration{0, time.Duration(1+d.random.IntN(most-1)) * time.Second, time.Duration(most) * time.Second}
		d.random.Shuffle(3, func(i, j int) { d.Masters[i], d.Masters[j] = d.Masters[j], d.Masters[i] })
		d.Queues = d.random.IntN(2)
	}
	d.people()
	d.Policies = append(d.Policies, d.rules(policy.DefaultName))
	if d.Has(PolicyChanges) {
		d.Policies = append(d.Policies, d.rules("other"))
	}
	d.callers()
	d.operators()
	d.faults()
	slices.SortStableFunc(d.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return d.Plan
}

func (d *drawer) oneIn(n int) bool { return d.random.IntN(n) == 0 }

// upTo draws a length of time below a bound, in milliseconds.
func (d *drawer) upTo(most time.Duration) time.Duration {
	return time.Duration(d.random.Int64N(int64(most))).Truncate(time.Millisecond)
}

func (d *drawer) add(e Event) { d.Events = append(d.Events, e) }

func (d *drawer) user() string { return d.Users[d.random.IntN(len(d.Users))].Name }

func (d *drawer) people() {
	for n := range 4 + d.random.IntN(4) {
		u := User{Name: fmt.Sprintf("user-%d", n)}
		if d.Has(Devices) || d.Has(OneChannelAway) {
			u.Devices = [][]string{nil, {"f1"}, {"f1", "a1"}, {"f1", "f2"}, {"a1", "a2", "f1"}}[d.random.IntN(5)]
			if d.Has(OneChannelAway) && n == 0 {
				u.Devices = []string{"f1", "a1"}
			}
		}
		d.Users = append(d.Users, u)
	}
	if d.Has(Accounts) || d.Has(HourlyQuotas) {
		d.Accounts = []Account{{"acme", 0, int64(10 + d.random.IntN(30)), ""}, {"beta", 0, int64(10 + d.random.IntN(20)), "Asia/Kolkata"}}
		if d.Has(HourlyQuotas) {
			for i := range d.Accounts {
				d.Accounts[i].PerHour = int64(2 + d.random.IntN(5))
			}
		}
	}
}

// window spells a rule with a window that is a multiple of the unit.
func (d *drawer) window(limit int, units float64) string {
	return fmt.Sprintf("%d/%ds", limit, max(1, int(d.Unit.Seconds()*units)))
}

// rules draws a policy. All policies of a world have the same longest window, as the store may
// forget places that are older than the longest window so far.
func (d *drawer) rules(name string) Rules {
	r := Rules{Name: name, Zone: []string{"", "Asia/Kolkata"}[d.random.IntN(2)]}
	r.Rules = []string{d.window(1, 0.3), d.window(3+d.random.IntN(2), 3), fmt.Sprintf("%d/calendar_hour", 12+d.random.IntN(30)), "60/calendar_day"}
	if d.Has(FullDays) {
		r.Rules = []string{d.window(1, 0.3), "60/calendar_day"}
	}
	if d.Has(QuietHours) && d.Unit >= time.Minute {
		from := d.upTo(d.Length).Truncate(time.Minute)
		r.Quiet = []Span{{from, from + time.Duration(1+d.random.IntN(5))*time.Minute}}
		r.Spread = []time.Duration{0, time.Minute, time.Hour}[d.random.IntN(3)]
	}
	if len(d.Accounts) > 0 {
		r.AccountShare = []int{0, 0, 50, 70}[d.random.IntN(4)]
	}
	if d.Has(Categories) {
		r.News, r.Codes = []string{d.window(2, 4)}, d.oneIn(2)
		if len(d.Accounts) > 0 {
			r.CodesOf = []string{"", d.Accounts[0].Name}[d.random.IntN(2)]
		}
		r.Throttle = []string{fmt.Sprintf("%d/minute", 2+d.random.IntN(4)), fmt.Sprintf("%d/hour", 8+d.random.IntN(30))}[d.random.IntN(2)]
	}
	if d.Has(LateSubmits) {
		r.Late = d.late()
	}
	if d.Has(ThrottledDates) {
		d.throttleDates(&r)
	} else if d.Has(DatedChanges) {
		from := d.upTo(d.Length)
		r.Dated = []Dated{{Span{from, from + d.upTo(d.Length)}, []string{d.window(1, 0.5), d.window(2, 3), "60/calendar_day"}}}
	}
	return r
}

// message draws a message that is submitted at a time.
func (d *drawer) message(at time.Duration) Event {
	d.ids++
	e := Event{
		At: at, Do: Submit, User: d.user(), ID: fmt.Sprintf("m%03d", d.ids), Shift: !d.oneIn(3),
		SendAt: at + d.Unit/20 + d.upTo(max(d.Length-d.Unit-at, d.Unit)),
	}
	if d.oneIn(4) {
		e.SendAt = at + d.Unit/20 + d.upTo(d.Unit)
	}
	e.Follow = !e.Shift
	if d.oneIn(5) {
		e.Do = DryRun
	}
	if d.Has(Categories) {
		e.Category = []string{CategoryNone, CategoryOther, CategoryNews, CategoryCodes, CategoryOffers}[d.random.IntN(5)]
	}
	if len(d.Accounts) > 0 && !d.oneIn(3) {
		e.Account = d.Accounts[d.random.IntN(len(d.Accounts))].Name
	}
	if d.Has(Campaigns) && d.oneIn(2) {
		e.Campaign, e.Account = []string{"spring", "autumn"}[d.random.IntN(2)], ""
	}
	if d.oneIn(3) || d.Has(LongRetries) || d.Has(LongPauses) {
		e.Expires = d.Unit/3 + d.upTo(4*d.Unit)
	}
	return e
}

// late draws what becomes of a message whose send time has passed.
func (d *drawer) late() string {
	return []string{"", policy.LateRefuse, policy.LateNow, fmt.Sprintf("%ds", int(max(d.Unit, 8*time.Second).Seconds()))}[d.random.IntN(4)]
}

// lateMessage draws a message whose send time has passed when it is submitted.
func (d *drawer) lateMessage() Event {
	e := d.message(d.Unit + d.upTo(d.Length-2*d.Unit))
	e.SendAt, e.Expires, e.Late = e.At-d.upTo(2*max(d.Unit, 8*time.Second)), 0, d.late()
	return e
}

// title draws a title that no message had before.
func (d *drawer) title() string {
	d.ids++
	return fmt.Sprintf("title %d", d.ids)
}

// callers draws submits, moves, edits and cancels.
func (d *drawer) callers() {
	for range 30 + d.random.IntN(60) {
		at := time.Duration(0)
		if d.oneIn(2) {
			at = d.upTo(d.Length - 2*d.Unit)
		}
		e := d.message(at)
		if d.Unit >= time.Minute && d.oneIn(8) {
			e.Do, e.Now, e.SendAt = Submit, true, at
		}
		d.add(e)
		if d.oneIn(8) { // others at the same moment, for the same user
			for range 1 + d.random.IntN(4) {
				other := d.message(at)
				other.User, other.SendAt, other.Category = e.User, e.SendAt, e.Category
				d.add(other)
			}
		}
		if d.Has(Moves) && d.oneIn(3) {
			when := at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit)
			change := Event{At: when, Do: Change, User: e.User, ID: e.ID, Account: e.Account, SendAt: when + d.Unit/20 + d.upTo(d.Length), Shift: d.oneIn(2)}
			if d.oneIn(3) {
				change.Do = Cancel
			} else if d.Has(Edits) && d.oneIn(2) {
				change.Title = d.title()
			}
			d.add(change)
		}
		if d.Has(Moves) && d.oneIn(4) {
			put := e
			put.At = at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit)
			put.Do, put.Title, put.SendAt, put.Now, put.Expires, put.Follow = Put, d.title(), put.At+d.Unit/20+d.upTo(d.Length), false, 0, false
			d.add(put)
			if d.oneIn(2) { // another one soon after
				put.At, put.Title = put.At+d.upTo(d.Unit/10), d.title()
				d.add(put)
			}
		}
		if d.Has(Edits) && d.oneIn(3) {
			for range 1 + d.random.IntN(2) {
				d.add(Event{At: at + d.upTo(max(e.SendAt-at, d.Unit)+d.Unit), Do: Edit, User: e.User, ID: e.ID, Account: e.Account, Title: d.title()})
			}
		}
	}
	if d.Has(FullDays) || d.Has(HourlyQuotas) {
		at := d.upTo(d.Length / 3)
		for range 12 { // many want the same moment
			e := d.message(at)
			e.SendAt, e.Shift, e.Do = d.Length*2/3, true, Submit
			d.add(e)
		}
	}
	if d.Has(FullDays) {
		for range 6 {
			e := d.message(d.upTo(d.Length / 2))
			e.SendAt = 24*time.Hour + d.upTo(d.Length)
			d.add(e)
			d.add(Event{At: d.Length/2 + d.upTo(d.Unit), Do: Change, User: e.User, ID: e.ID, Account: e.Account, SendAt: d.Length - d.Unit, Shift: true})
		}
	}
	if d.Has(Flood) {
		e := d.message(d.upTo(d.Length / 2))
		e.Together = 40
		d.add(e)
	}
	if d.Has(Bulk) {
		e := d.message(d.upTo(d.Length / 2))
		if d.Has(LateSubmits) {
			e = d.lateMessage()
		}
		e.Do, e.User, e.Together, e.Follow = SubmitFile, "", 20+d.random.IntN(20), false
		d.add(e)
	}
	if d.Has(LateSubmits) {
		for range 6 + d.random.IntN(12) {
			d.add(d.lateMessage())
		}
	}
	if d.Has(Campaigns) {
		for range 1 + d.random.IntN(3) {
			at, name := d.upTo(d.Length-d.Unit), []string{"spring", "autumn"}[d.random.IntN(2)]
			switch d.random.IntN(3) {
			case 0:
				d.add(Event{At: at, Do: CancelCampaign, Campaign: name})
				if d.oneIn(2) {
					d.add(Event{At: at + d.upTo(5*d.Unit), Do: ReopenCampaign, Campaign: name})
				}
			case 1:
				d.add(Event{At: at, Do: MoveCampaign, Campaign: name, By: d.Unit + d.upTo(5*d.Unit)})
			default:
				d.add(Event{At: at, Do: PauseCampaign, Campaign: name})
				d.add(Event{At: at + d.upTo(5*d.Unit) + 5*time.Second, Do: ResumeCampaign, Campaign: name})
			}
		}
	}
}

// operators draws changes of the rules, and other actions of operators.
func (d *drawer) operators() {
	if d.Has(PolicyChanges) {
		for range 1 + d.random.IntN(4) {
			at := d.upTo(d.Length)
			switch d.random.IntN(3) {
			case 0:
				r := d.rules([]string{policy.DefaultName, "other"}[d.random.IntN(2)])
				d.add(Event{At: at, Do: ApplyPolicy, Policy: &r})
				if d.oneIn(2) {
					d.add(Event{At: at + d.upTo(3*d.Unit) + time.Second, Do: Rollback, Name: r.Name})
				}
			case 1:
				d.add(Event{At: at, Do: SetPolicyOf, User: d.user(), Name: []string{"", "other"}[d.random.IntN(2)]})
			default:
				d.add(Event{At: at, Do: Refit, Shift: d.oneIn(2)})
			}
		}
	}
	if d.Has(UserSettings) {
		what := []Action{Block, OptOut, OptOutOfAll, Disturb}
		if d.Unit >= time.Minute { // quiet hours have whole minutes
			what = append(what, Quieten)
		}
		for range 1 + d.random.IntN(4) {
			d.add(Event{
				At: d.upTo(d.Length), Do: what[d.random.IntN(len(what))], User: d.user(), Lasts: d.Unit + d.upTo(5*d.Unit),
				Then: []policy.Then{"", policy.ThenKeep, policy.ThenShift, policy.ThenDrop}[d.random.IntN(4)],
			})
		}
	}
	if d.Has(Operators) {
		if d.oneIn(2) {
			d.add(Event{At: d.Length/2 + d.upTo(d.Length/2), Do: Erase, User: d.user()})
		}
		d.add(Event{At: d.Length - d.upTo(d.Length/3), Do: RetryDead})
	}
	if d.Has(MovingPhones) {
		for range 6 + d.random.IntN(10) {
			d.add(Event{At: d.upTo(d.Length), Do: MovePhone, User: d.user(), Name: Phones()[d.random.IntN(len(Phones()))]})
			if other := d.Events[len(d.Events)-1]; d.oneIn(4) { // another user at the same moment
				other.User = d.user()
				d.add(other)
			}
		}
	}
	if d.Has(ShorterWindows) {
		d.shorterWindows()
	}
	if d.Has(HourlyQuotas) {
		d.fullHours()
	}
	if d.Has(ThrottledDates) {
		d.fullThrottles()
	}
}
