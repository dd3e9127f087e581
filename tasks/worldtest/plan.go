package worldtest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Plan is the drawn part of a world: its participants, the actions of callers and operators, and
// the failures. All times are from the beginning of the world.
type Plan struct {
	Seed     uint64
	Features []Feature
	// Unit scales windows, messages and outages: a minute in virtual time, some seconds in real
	// time.
	Unit    time.Duration
	Length  time.Duration // of what is planned; the last messages end later
	Workers int
	// Clocks are how far the clocks of processes are ahead, of one after the other and again.
	Clocks []time.Duration
	// Masters are how far the clocks of the masters are ahead. A single one is no cluster.
	Masters []time.Duration
	Queues  int // zero for one for each master

	Pace         string // of all pushes; "" for none
	Horizon      time.Duration
	PlacesPerDay int // zero for the default
	Skip         bool
	Users        []User
	Accounts     []Account
	Policies     []Rules // those that there are at the beginning; the first is the default one
	Events       []Event // by time
}

// ClockOf returns how far the clock of the nth process is ahead.
func (p Plan) ClockOf(n int) time.Duration {
	if len(p.Clocks) == 0 {
		return 0
	}
	return p.Clocks[n%len(p.Clocks)]
}

// Has reports whether a feature was drawn.
func (p Plan) Has(f Feature) bool {
	for _, g := range p.Features {
		if g == f {
			return true
		}
	}
	return false
}

// HasDevices reports whether users may have devices.
func (p Plan) HasDevices() bool {
	return p.Has(Devices) || p.Has(OneChannelAway) || p.Has(MovingPhones)
}

// String lists the plan, an event a line.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v, %s, %d workers, horizon %s, %d places a day, pace %q, clocks %v, masters %v, %d queues\n", p.Seed, p.Features, p.Length, p.Workers, p.Horizon, p.PlacesPerDay, p.Pace, p.Clocks, p.Masters, p.Queues)
	for _, u := range p.Users {
		fmt.Fprintf(&b, "  user %s, devices %v\n", u.Name, u.Devices)
	}
	for _, a := range p.Accounts {
		fmt.Fprintf(&b, "  account %s: %d an hour, %d a day, %s\n", a.Name, a.PerHour, a.PerDay, a.Zone)
	}
	for _, r := range p.Policies {
		fmt.Fprintf(&b, "  policy %s\n", r)
	}
	for i, e := range p.Events {
		fmt.Fprintf(&b, "  %3d  +%-12s %s\n", i, e.At, e)
	}
	return b.String()
}

// User is a receiver. The ids of devices begin with f for fcm, with a for apns.
type User struct {
	Name    string
	Devices []string
}

// PhonesAccount sends nothing, and has at most MaxPhones devices, which are registered and removed.
const (
	PhonesAccount = "phones"
	MaxPhones     = 6
)

// Phones are the ids of phones that have one user at a time. The last one is of PhonesAccount.
func Phones() []string { return []string{"f-red", "f-blue", "f-green"} }

// Account is a sender with a quota.
type Account struct {
	Name            string
	PerHour, PerDay int64
	Zone            string
}

// share returns how many places of a user's day an account may have: three quarters, as several
// accounts have keys; the zero value for all.
func (p Plan) share(account string) sendlimit.Share {
	if account == "" {
		return sendlimit.Share{}
	}
	return sendlimit.Share{Account: account, Places: max(1, cmp.Or(p.PlacesPerDay, policy.DefaultPlacesPerDay)*3/4)}
}

func (a Account) tier() accounts.Tier {
	return accounts.Tier{Name: a.Name, MessagesPerHour: a.PerHour, MessagesPerDay: a.PerDay}
}

// Rules is a policy as it is planned.
type Rules struct {
	Name     string
	Zone     string
	OfUsers  bool // users' own zones count, see policy.Policy.UserTimeZone
	Rules    []string
	Quiet    []Span        // rounded to whole minutes
	Spread   time.Duration // of shifts out of them
	News     []string
	Codes    bool   // the category codes is exempt
	CodesOf  string // the account that may use it; "" for all
	Throttle string
	Late     string
	Reach    time.Duration
	Dated    []Dated
	// AccountShare is how many percent of each rule one account may have; 0 for all.
	AccountShare int
}

// Span is a stretch of time.
type Span struct{ From, Until time.Duration }

// Dated is a change of a policy for the send times of a span.
type Dated struct {
	Span

	Rules []string
}

// Categories of messages.
const (
	CategoryNone   = ""
	CategoryOther  = "other"
	CategoryNews   = "news"   // with rules of its own
	CategoryCodes  = "codes"  // exempt
	CategoryOffers = "offers" // with a throttle
)

// FirstTitle is the title of every message until it is edited.
const FirstTitle = "title"

func (r Rules) String() string {
	return fmt.Sprintf("%s %v %s, quiet %v, spread %v, news %v, codes exempt %v for %q, throttle %q, late %q, dated %v, %d%% for an account", r.Name, r.Rules, r.Zone+map[bool]string{true: " or the user's"}[r.OfUsers], r.Quiet, r.Spread, r.News, r.Codes, r.CodesOf, r.Throttle, r.Late, r.Dated, r.AccountShare)
}

// At returns the policy in a world that began at a time.
func (r Rules) At(began time.Time) (policy.Policy, error) {
	p, err := policy.Parse(r.Name, r.Zone, r.Rules...)
	if err != nil {
		return p, fmt.Errorf("a planned policy: %w", err)
	}
	p.UserTimeZone = r.OfUsers
	p.UnknownCategories, p.Reach, p.AccountShare, p.ShiftSpread = policy.AllowUnknown, r.Reach, r.AccountShare, r.Spread
	zone, err := p.Location()
	if err != nil {
		return p, fmt.Errorf("a planned policy: %w", err)
	}
	if len(r.Quiet) > 0 {
		var lines []string
		for _, s := range r.Quiet {
			const clock = "15:04"
			lines = append(lines, began.Add(s.From).In(zone).Format(clock)+"-"+began.Add(s.Until).In(zone).Format(clock))
		}
		if p.QuietHours, err = policy.ParseQuietHours(lines...); err != nil {
			return p, fmt.Errorf("planned quiet hours: %w", err)
		}
	}
	p.Categories = make(map[string]policy.CategoryRules)
	if len(r.News) > 0 {
		rules, err := policy.ParseRules(r.News, "rules")
		if err != nil {
			return p, fmt.Errorf("planned rules: %w", err)
		}
		p.Categories[CategoryNews] = policy.CategoryRules{Rules: rules}
	}
	if r.Codes {
		codes := policy.CategoryRules{Exempt: true}
		if r.CodesOf != "" {
			codes.Accounts = []string{r.CodesOf}
		}
		p.Categories[CategoryCodes] = codes
	}
	if r.Throttle != "" {
		t, err := policy.ParseThrottle(r.Throttle)
		if err != nil {
			return p, fmt.Errorf("a planned throttle: %w", err)
		}
		p.Categories[CategoryOffers] = policy.CategoryRules{Throttle: t}
	}
	if r.Late != "" {
		if p.Late, err = policy.ParseLate(r.Late); err != nil {
			return p, fmt.Errorf("a planned policy: %w", err)
		}
	}
	for _, d := range r.Dated {
		rules, err := policy.ParseRules(d.Rules, "rules")
		if err != nil {
			return p, fmt.Errorf("planned rules: %w", err)
		}
		p.Changes = append(p.Changes, policy.DatedChange{From: began.Add(d.From), Until: began.Add(d.Until), Rules: rules})
	}
	return p, nil
}

// Action is the kind of an event.
type Action string

// The actions of callers and operators, and the failures.
const (
	Submit         Action = "submit"
	SubmitFile     Action = "submit a file" // of Together messages for all users in turn
	DryRun         Action = "dry run, then submit"
	Change         Action = "move" // with a new title, perhaps
	Edit           Action = "edit"
	Put            Action = "put" // another message in place of a pending one
	Cancel         Action = "cancel"
	CancelCampaign Action = "cancel campaign"
	ReopenCampaign Action = "reopen campaign"
	MoveCampaign   Action = "move campaign"
	PauseCampaign  Action = "pause campaign"
	ResumeCampaign Action = "resume campaign"
	StopSending    Action = "stop all sending" // for a while; without Lasts, start it again

	ApplyPolicy Action = "apply policy"
	Rollback    Action = "roll the policy back"
	SetPolicyOf Action = "give a policy to a user"
	Block       Action = "block a user"
	OptOut      Action = "a user opts out of news"
	Disturb     Action = "a user is not disturbed for a while"
	Travel      Action = "a user travels"
	OptOutOfAll Action = "a user opts out of all"
	Quieten     Action = "a user sets quiet hours"
	Refit       Action = "refit"
	Erase       Action = "erase user"
	RetryDead   Action = "retry dead letters"

	AddDevices    Action = "register devices of an account" // Together, of as many users
	RemoveDevices Action = "remove them"
	MovePhone     Action = "register a phone" // which another user may have

	StoreAway  Action = "the store is away"
	StoreSlow  Action = "the store is slow"
	LoseReply  Action = "replies are lost"
	ClockAhead Action = "the store's clock is ahead"
	StopWorker Action = "a worker is stopped for good"
	StopCaller Action = "a caller is stopped for good"
	NoWorkers  Action = "no worker runs"
	LoseQueue  Action = "the queue loses its keys"
	PowerCut   Action = "the power fails" // the log of the store is torn
	Channel    Action = "a channel"
	LoseDevice Action = "a device is gone"
	RefuseUser Action = "what is for a user is refused as if the credentials were wrong"
)

// Event is something that happens. Which fields count depends on the action.
type Event struct {
	At time.Duration
	Do Action

	User, ID  string
	Account   string
	Category  string
	Campaign  string
	Title     string // of an edit, of a put, or of a move that edits, too
	SendAt    time.Duration
	Window    time.Duration // asks for a time in a window of this length from SendAt on; zero for SendAt
	Prefer    policy.Prefer // in the window
	Now       bool          // to be sent when it is submitted; SendAt is when it is asked for
	Keeps     bool          // its local time: SendAt is when it is that time in homeZone
	Expires   time.Duration // after the send time; zero for the default
	Late      string        // what becomes of it if the send time has passed
	Shift     bool
	Until     time.Duration // the last time that a shift may choose; zero for the world's end
	Follow    bool          // submits again at the free times that a refusal names
	Together  int           // how many messages are submitted at a time; their ids have numbers
	Policy    *Rules
	Name      string // of a policy or a device
	By        time.Duration
	Lasts     time.Duration
	Then      policy.Then // what a change of a user's settings does with messages
	Zone      string      // of the user from this change of settings on; "" for none of their own
	Disturb   time.Time   // before which the user is not disturbed, or has quiet hours: set when it begins
	Channel   string
	Behaviour Behaviour
	Call      int  // at which of the next calls
	After     bool // it is done, and nobody learns of it
}

func (e Event) String() string {
	switch e.Do {
	case Submit, SubmitFile, DryRun, Change, Put:
		s := fmt.Sprintf("%s %s/%s for +%s", e.Do, e.User, e.ID, e.SendAt)
		for _, one := range []struct {
			given bool
			what  string
		}{
			{e.Category != "", " as " + e.Category},
			{e.Account != "", " by " + e.Account},
			{e.Campaign != "", " of " + e.Campaign},
			{e.Title != "", " as " + e.Title},
			{e.Expires > 0, " expires after " + e.Expires.String()},
			{e.Shift, " shift"},
			{e.Until > 0, " until +" + e.Until.String()},
			{e.Follow, " follow"},
			{e.Now, " now"},
			{e.Keeps, " by local time"},
			{e.Late != "", " late " + e.Late},
			{e.Window > 0, fmt.Sprintf(" or the %s within %s", e.Prefer, e.Window)},
			{e.Together > 1, fmt.Sprintf(" ×%d", e.Together)},
		} {
			if one.given {
				s += one.what
			}
		}
		return s
	case ApplyPolicy:
		return fmt.Sprintf("%s %s", e.Do, e.Policy)
	default:
		return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s %s %s %s %s for %s, by %s, at call %d, after it %v",
			e.Do, e.User, e.ID, e.Title, e.Campaign, e.Name, e.Zone, e.Then, e.Channel, e.Behaviour, e.Lasts, e.By, e.Call, e.After)), " ")
	}
}
