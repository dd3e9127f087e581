package channels

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

const (
	// stopUsers is how many users' messages have to be refused, without a success between,
	// to stop a channel.
	stopUsers = 3
	// stopAccounts is how many accounts' messages have to be refused, if as many have sent within
	// sentWithin.
	stopAccounts = 2
	sentWithin   = 5 * time.Minute
	// stopAfter is the least time from the first of these refusals to the stop.
	// By then a success of another worker is known here.
	stopAfter = 2 * job.LookEvery
	// maxAccounts is how many accounts with refused messages are remembered.
	maxAccounts = 100
	// maxRefused is how many refused messages are remembered. A forgotten one counts as
	// refused for the first time.
	maxRefused = 10_000
)

// refusals judges whether a provider that refuses us means the credentials or one message: after a
// success with the same credentials, it meant the message. It is safe for concurrent use.
type refusals struct {
	seed maphash.Seed

	mu       sync.Mutex
	accepted time.Time                   // the last success with these credentials, of any worker
	messages *lru.Cache[uint64, refused] // by a message's hash
	first    time.Time                   // the first refusal since the last success
	users    map[uint64]struct{}         // with refused messages since then, at most stopUsers
	accounts map[string]struct{}         // the same, at most maxAccounts
	senders  [stopAccounts]sender        // the accounts that sent last, the latest first
}

// refused is a refused message.
type refused struct {
	at    time.Time // the last time
	times int       // without its own failures
}

// sender is when an account last sent.
type sender struct {
	account string
	at      time.Time
}

// Sent is a message that was sent to a provider.
type Sent struct{ Account, Campaign, User, ID string }

func newRefusals() (*refusals, error) {
	messages, err := lru.New[uint64, refused](maxRefused)
	if err != nil {
		return nil, fmt.Errorf("make room for refused messages: %w", err)
	}
	r := &refusals{seed: maphash.MakeSeed(), messages: messages}
	r.forget()
	return r, nil
}

func (r *refusals) sends(account string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.senders[0].at.IsZero() && r.senders[0].account != account {
		copy(r.senders[1:], r.senders[:])
	}
	r.senders[0] = sender{account, now}
}

// accept notes a success with the present credentials, and reports whether it is the first.
func (r *refusals) accept(at time.Time) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.accepted.IsZero()
	if at.After(r.accepted) {
		r.accepted = at
	}
	if len(r.users) > 0 && !at.Before(r.first) {
		r.forget()
	}
	return first
}

// last returns the time of the last success with the present credentials.
func (r *refusals) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Refusal is the meaning of a refusal.
type Refusal struct {
	Own   bool // the message is at fault: another one succeeded since it was first refused
	Times int  // how often it was refused while that was not known
	Stop  bool // the credentials are at fault: stop the channel
}

// refuse notes that the provider refused a message, and judges what that means.
func (r *refusals) refuse(m Sent, now time.Time) Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accepted.After(now.Add(sentWithin)) { // noted while the clock was ahead
		r.accepted = time.Time{}
	}
	key := r.message(m)
	known, before := r.messages.Get(key)
	own := before && r.accepted.After(known.at)
	known.at = now
	if !own {
		known.times++
	}
	r.messages.Add(key, known)
	if len(r.users) == 0 || now.Before(r.first) {
		r.first = now
	}
	if len(r.users) < stopUsers {
		r.users[maphash.String(r.seed, m.User)] = struct{}{}
	}
	if len(r.accounts) < maxAccounts {
		r.accounts[m.Account] = struct{}{}
	}
	return Refusal{
		Own: own, Times: known.times,
		Stop: r.concernsAll(len(r.users), len(r.accounts), now) && now.Sub(r.first) >= stopAfter,
	}
}

// concernsAll reports whether refusals of so many users' and accounts' messages concern all messages.
func (r *refusals) concernsAll(users, accounts int, now time.Time) bool {
	oldest := r.senders[stopAccounts-1]
	alone := oldest.at.IsZero() || now.Sub(oldest.at) >= sentWithin
	return users >= stopUsers && (alone || accounts >= stopAccounts)
}

// has reports whether a message was refused before.
func (r *refusals) has(m Sent) bool { return r.messages.Contains(r.message(m)) }

// spares reports whether only messages of other accounts were refused since the last success. The
// account's next message shows whether the credentials are at fault.
func (r *refusals) spares(account string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, refused := r.accounts[account]
	return !refused && len(r.accounts) > 0 && len(r.accounts) < maxAccounts
}

// resume forgets the refusals that stopped the channel.
func (r *refusals) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
}

// reset forgets everything about former credentials.
func (r *refusals) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted = time.Time{}
	r.messages.Purge()
	r.forget()
}

func (r *refusals) forget() {
	r.first, r.users, r.accounts = time.Time{}, map[uint64]struct{}{}, map[string]struct{}{}
}

func (r *refusals) message(m Sent) uint64 { return maphash.String(r.seed, m.User+"\x00"+m.ID) }
