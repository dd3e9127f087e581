package integration_test

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// crashStep is one request of a submitter.
type crashStep struct {
	Wait time.Duration `json:"wait"` // before it
	Do   string        `json:"do"`
	User string        `json:"user"`
	ID   string        `json:"id"`
	// Life counts the earlier messages with the id.
	Life    int           `json:"life"`
	Account string        `json:"account,omitempty"` // for a submit: who is charged
	In      time.Duration `json:"in"`                // after the request; zero means as soon as possible for a submit
	Shift   bool          `json:"shift,omitempty"`
	Expires time.Duration `json:"expires,omitempty"` // after the send time
	// Campaign is what a message belongs to, "" for none.
	Campaign string `json:"campaign,omitempty"`
	// Provider is how the provider treats the message.
	Provider string `json:"provider,omitempty"`
	// GiveUp means that a submitter that died over it does not repeat it.
	GiveUp bool `json:"give_up,omitempty"`
}

// The steps.
const (
	doSubmit = "submit"
	doMove   = "move"
	doCancel = "cancel"
)

// How a provider treats a message.
const (
	providerTakes = ""
	providerBusy  = "busy"  // 503 at the first attempt
	providerAgain = "again" // and at the second
	providerGone  = "gone"  // 400
	providerSlow  = "slow"  // after a while
	providerFull  = "full"  // 429 at the first attempt, and a second to wait
)

// crashPlan is what submitters request. Lanes run in parallel, the steps of a lane one
// after the other. A message belongs to one lane, a user to all.
type crashPlan [][]crashStep

// randomPlan has the number of messages in each lane. Many of them are shifted, moved,
// cancelled, or submitted again with other content.
func randomPlan(random *rand.Rand, name string, users []string, lanes, messages int, pause time.Duration) crashPlan {
	plan := make(crashPlan, lanes)
	for lane := range plan {
		for m := range messages {
			one := messagePlan(random, users[random.IntN(len(users))], fmt.Sprintf("%s-%d-%d", name, lane, m))
			one[0].Wait = time.Duration(random.Int64N(int64(pause)))
			plan[lane] = append(plan[lane], one...)
		}
	}
	return plan
}

// messagePlan is one message's part of a plan.
func messagePlan(random *rand.Rand, user, id string) []crashStep {
	soon := func() time.Duration {
		return time.Duration(random.Int64N(1200)) * time.Millisecond
	}
	step := func(do string) crashStep {
		return crashStep{
			Wait: time.Duration(random.Int64N(100)) * time.Millisecond, Do: do, User: user, ID: id, GiveUp: random.IntN(2) == 0,
		}
	}
	submit := step(doSubmit)
	submit.Shift = random.IntN(2) == 0
	if random.IntN(2) == 0 {
		submit.Account = crashAccount
	}
	if random.IntN(5) > 0 {
		submit.In = 50*time.Millisecond + soon()
	}
	if random.IntN(8) == 0 {
		submit.Expires = time.Second + soon()
	}
	switch random.IntN(10) {
	case 0:
		submit.Provider = providerGone
	case 1:
		submit.Provider = providerBusy
	case 2:
		submit.Provider = providerAgain
	case 3, 4:
		submit.Provider = providerSlow
	}
	if random.IntN(2) == 0 {
		submit.Campaign = "spring"
	}
	steps := []crashStep{submit}
	if random.IntN(4) == 0 {
		move := step(doMove)
		move.In = 50*time.Millisecond + soon()
		steps = append(steps, move)
	}
	if random.IntN(5) == 0 {
		steps = append(steps, step(doCancel))
		if random.IntN(2) == 0 {
			again := step(doSubmit)
			again.Account = submit.Account
			if random.IntN(2) == 0 {
				again.Campaign = submit.Campaign
			}
			again.Life, again.In, again.Shift = 1, 50*time.Millisecond+soon(), true
			steps = append(steps, again)
		}
	}
	return steps
}
