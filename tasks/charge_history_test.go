package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// deathHook has a program's calls come to nothing after so many of them: as if it
// had died there, before the last of them was done or after it.
type deathHook struct {
	mu    sync.Mutex
	left  int // calls that are made still; negative for all
	after bool
}

var errDied = errors.New("died here")

func (h *deathHook) dies() (before, after bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.left < 0:
		return false, false
	case h.left == 0:
		return true, true
	}
	h.left--
	return h.left == 0 && !h.after, h.left == 0
}

func (*deathHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *deathHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		before, after := h.dies()
		if before {
			return errDied
		}
		if err := next(ctx, cmd); !after {
			return err
		}
		cmd.SetErr(errDied)
		return errDied
	}
}

func (h *deathHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		before, after := h.dies()
		err := errDied
		if !before {
			err = next(ctx, cmds)
		}
		if after {
			for _, cmd := range cmds {
				cmd.SetErr(errDied)
			}
			return errDied
		}
		return err
	}
}

// chargeHistory is what happens to a few messages of two accounts, done by
// programs that die between any two of their calls.
type chargeHistory struct {
	*story

	random   *rand.Rand
	charges  *quota.Charges
	messages map[string][]string
	// throttles are what the policy's category marketing has, one after another; nil for no
	// categories.
	throttles []string
}

// A charge and what it is for stay together, wherever programs die.
func TestChargesAreWhatIsAccepted(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			tell(t, func(s *story) {
				s.historyOfCharges(rand.New(rand.NewPCG(seed, 7)))
			}, "2/hour", "3/calendar_day")
		})
	}
}

// So do a throttle's, beside those of accounts, and no minute or hour has more than it may.
func TestThrottlesAreWhatIsAccepted(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		for name, throttles := range map[string][]string{
			"one":     {"2/hour"},
			"changed": {"2/hour", "1/minute", "", "3/hour", "2/minute"}, // what was charged before stays so
		} {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				tell(t, func(s *story) { s.historyOfCharges(rand.New(rand.NewPCG(seed, 8)), throttles...) })
			})
		}
	}
}

// historyOfCharges plays a random history, and holds the charges against the
// messages that there are when all have been looked after.
func (s *story) historyOfCharges(random *rand.Rand, throttles ...string) {
	s.Helper()
	s.charges("acme", accounts.Tier{MessagesPerHour: 4, MessagesPerDay: 9}, "")
	s.charges("beta", accounts.Tier{MessagesPerHour: 3, MessagesPerDay: 7}, "Europe/Berlin")
	charges, err := quota.New(s.client, quota.Options{})
	require.NoError(s, err)
	h := &chargeHistory{story: s, random: random, charges: charges, messages: make(map[string][]string), throttles: throttles}
	for user := range 4 {
		for id := range 4 {
			name := fmt.Sprintf("u%d", user)
			h.messages[name] = append(h.messages[name], fmt.Sprintf("m%d", id))
		}
	}
	for i := range 120 {
		if len(throttles) > 0 && i%20 == 0 {
			h.policy(func(p *policy.Policy) { *p = h.throttledPolicy(i / 20) })
		}
		h.step()
		h.withinQuotas()
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		if random.IntN(6) == 0 {
			h.relay()
		}
	}
	time.Sleep(time.Minute)
	h.relay()
	zones := map[string]*time.Location{"beta": berlin(s.T)}
	s.requireChargesBy(zones, h.messages, func(m *sendlimittest.ChargeModel) {
		switch len(throttles) {
		case 0:
		case 1:
			m.Throttle(h.throttledPolicy(0))
		default:
			m.ThrottleAsNamed()
		}
	})
}

// throttledPolicy is the policy with a throttle of the history.
func (h *chargeHistory) throttledPolicy(i int) policy.Policy {
	h.Helper()
	p := policy.Default()
	p.Rules = rulesOf(h, "2/hour", "3/calendar_day")
	marketing := throttleOf(h, h.throttles[i%len(h.throttles)])
	marketing.Rules = rulesOf(h, "900/calendar_day")
	p.Categories = map[string]policy.CategoryRules{"marketing": marketing}
	return p
}

// step has a program of its own do one thing, and perhaps die over it.
func (h *chargeHistory) step() {
	h.Helper()
	hook := &deathHook{left: -1}
	h.hook = hook
	client := h.newClient()
	submitter, err := submit.New(taskstest.Open(h, client, h.shared), submit.Options{})
	require.NoError(h, err)
	_, err = submitter.Timeline(h.Context()) // it has its rules
	require.NoError(h, err)
	if h.random.IntN(2) == 0 {
		hook.mu.Lock()
		hook.left, hook.after = 1+h.random.IntN(12), h.random.IntN(2) == 0
		hook.mu.Unlock()
	}
	user, id := fmt.Sprintf("u%d", h.random.IntN(4)), fmt.Sprintf("m%d", h.random.IntN(4))
	account := []string{"acme", "beta", ""}[h.random.IntN(3)]
	after := time.Duration(1+h.random.IntN(30))*time.Hour + time.Duration(h.random.IntN(3600))*time.Second
	if h.throttles != nil { // so that many share a minute
		after = time.Duration(1+h.random.IntN(9))*time.Hour + time.Duration(h.random.IntN(180))*time.Second
	}
	switch h.random.IntN(5) {
	case 0:
		_, err = submitter.For(account).Cancel(h.Context(), user, id)
	case 1:
		move, body := message.Move{At: h.at(after)}, strconv.Itoa(h.random.IntN(1000))
		p := message.Patch{Move: &move}
		if h.random.IntN(2) == 0 {
			move.OnConflict = message.OnConflictShift
		}
		if h.random.IntN(2) == 0 {
			p.Edit.Body = &body
		}
		_, err = submitter.For(account).Change(h.Context(), user, id, p)
	default:
		m := h.message(id, after)
		m.User, m.Account = user, account
		if h.throttles != nil && h.random.IntN(4) > 0 {
			m.Category = "marketing"
		}
		if h.random.IntN(3) == 0 {
			m.OnConflict = message.OnConflictShift
		}
		_, err = submitter.Submit(h.Context(), m)
	}
	if err != nil {
		require.ErrorIs(h, err, errDied)
	}
	require.NoError(h, submitter.Close())
	require.NoError(h, client.Close())
}

// withinQuotas requires that no counter is above its limit, at any moment.
func (h *chargeHistory) withinQuotas() {
	h.Helper()
	keys, err := h.client.Keys(h.Context(), "sl:{p*}:q:*").Result()
	require.NoError(h, err)
	for _, key := range keys {
		n, err := h.client.Get(h.Context(), key).Int()
		require.NoError(h, err)
		require.Positive(h, n, key)
		require.LessOrEqual(h, n, 9, key)
		if len(h.throttles) == 1 && strings.Contains(key, "~") {
			require.LessOrEqual(h, n, 2, key)
		}
	}
}

// relay looks after what is due, as a worker does.
func (h *chargeHistory) relay() {
	h.Helper()
	due, err := h.charges.Due(h.Context(), time.Now(), 100)
	require.NoError(h, err)
	for _, hold := range due {
		_, _, err := h.charges.Resolve(h.Context(), hold, time.Time{})
		require.NoError(h, err)
	}
	synctest.Wait()
}
