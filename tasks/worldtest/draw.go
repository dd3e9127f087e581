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
	if d.Unit < time.Minute { // zones are a quarter of an hour apart
		c.Without = append(slices.Clone(c.Without), Travels)
	}
	for _, f := range slices.Concat(allFeatures(), rareFeatures(), c.With) {
		chance := 2
		if slices.Contains(rareFeatures(), f) {
			chance = 8
		}
		if drawn := d.oneIn(chance); (c.Features == nil && drawn || slices.Contains(c.Features, f)) && !slices.Contains(c.Without, f) {
			d.Features = append(d.Features, f)
		}
	}
	if d.Has(ThrottledDates) { // they are drawn by hours of UTC
		d.Features = slices.DeleteFunc(d.Features, func(f Feature) bool { return f == Travels })
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
	if d.Has(Travels) {
		r.Zone, r.OfUsers = homeZone, d.oneIn(2)
	}
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
				d.add(Event{At: at, Do: SetPolicyOf, User: d.user(), Name: []string{"", "other"}[d.random.IntN(2)], Zone: d.zone()})
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
				Then: d.then(), Zone: d.zone(),
			})
		}
	}
	d.travels()
	if d.Has(Operators) {
		if d.oneIn(2) {
			d.add(Event{At: d.Length/2 + d.upTo(d.Length/2), Do: Erase, User: d.user()})
		}
		d.add(Event{At: d.Length - d.upTo(d.Length/3), Do: RetryDead})
		if d.oneIn(2) {
			d.add(Event{At: d.upTo(d.Length), Do: StopSending, Lasts: d.Unit + d.upTo(5*d.Unit)})
		}
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
