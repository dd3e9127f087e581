package worldtest

import (
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Story has the events of a world: the answer to each request, the arrivals, the places in their
// order, and the outages. It is the same on every stage.
type Story struct {
	Plan     Plan
	Began    time.Time
	Ended    time.Time     // when the store is read
	Lease    time.Duration // of a delivery
	Client   redis.UniversalClient
	Arrivals []Arrival
	Mails    []Mail
	Trace    []Call
	Halted   map[string]bool // processes that were stopped for good
	Charged  map[string]int  // the last value that each counter of charges had, by its key
	// ExpireAfter is when a message without an expiry expires, Polling how long a worker may not
	// look at its queue.
	ExpireAfter, Polling time.Duration
	// Ahead is how far the clocks of the masters that have users are ahead, by user; nil for one clock.
	Ahead map[string]time.Duration
	Real  *Real // nil on a stage in virtual time

	mu         sync.Mutex
	answers    []Answer
	placements []Placement // empty where a stage can't see them
	changes    []RuleChange
	campaigns  []CampaignChange
	phones     []Registration
	failed     int // calls for devices without an answer: they may be done or not
	spans      []Away
	silences   []Away // from the answer to a stop of all sending until the request to start it again
}

// Answer is a request and its answer.
type Answer struct {
	Event

	Got message.Outcome // the answer

	// Message is the submitted message, or has the time of a move.
	Message message.Message
	// Dry is the answer of a dry run right before; nil for none.
	Dry *message.Outcome
	// Free is set if the request asks for a free time that the answer before it named.
	Free bool
	// Alone is set if no other process changed anything since the answer or the dry run before it.
	Alone        bool
	Began, Ended time.Time
	// Unclear is set if there was an error, or the caller was stopped: it may be done or not.
	Unclear bool
	Err     error

	mark mark   // when it began, in the order of calls
	end  int    // the number of calls when it was answered
	by   string // the process that asked
}

// Placement is a change of a user's timeline by one call. From is zero for a new place, To for one
// that was removed.
type Placement struct {
	Call     int // its number in the order of calls: several may be of one call
	At       time.Time
	Process  string
	By       string // the script or the command
	User, ID string
	From, To time.Time
}

// RuleChange is a change of the policies or of a user's settings. It took effect between two times.
type RuleChange struct {
	Began, Ended time.Time
	Policies     []policy.Policy // all of them after it, the default one first
	User         string          // whose settings changed; "" for none
	Settings     policy.UserSettings
}

// CampaignChange is a cancel or a reopening of a campaign.
type CampaignChange struct {
	Event

	Began, Ended time.Time
	Done         bool // false if the world ended before, or if the campaign had no messages
}

// Registration is a registration of one of the Phones.
type Registration struct {
	User, Phone  string
	Began, Ended time.Time
	Err          error // the phone may be registered or not
}

// Away is an outage.
type Away struct {
	What        Action
	Channel     string // "" for all
	From, Until time.Time
}

func (s *Story) answered(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, a)
}

func (s *Story) placed(p Placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placements = append(s.placements, p)
}

func (s *Story) changed(c RuleChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, c)
}

func (s *Story) changedCampaign(c CampaignChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigns = append(s.campaigns, c)
}

func (s *Story) registered(r Registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phones = append(s.phones, r)
}

// noteAway notes an outage from a time until now.
func (s *Story) noteAway(what Action, channel string, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, Away{what, channel, from, time.Now()})
}

// unanswered adds to the calls for devices that have no answer.
func (s *Story) unanswered(calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed += calls
}

func (s *Story) halted(process string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Halted[process] = true
}

// Changes returns the changes of the rules so far.
func (s *Story) Changes() []RuleChange { return s.changes }
