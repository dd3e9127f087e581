package channels

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// stopUsers is of how many users messages have to be refused, without a success between,
	// before a channel is stopped.
	stopUsers = 3
	// stopAccounts is of how many accounts they have to be, if so many have sent within
	// sentWithin.
	stopAccounts = 2
	sentWithin   = 5 * time.Minute
	// stopAfter is for how long nothing may have succeeded since the first of these refusals.
	// By then a success of another worker is known here.
	stopAfter = 2 * lookEvery
	// maxAccounts is how many accounts are remembered whose messages were refused.
	maxAccounts = 100
	// maxRefused is how many refused messages are remembered. One that is forgotten counts as
	// refused for the first time.
	maxRefused = 10_000
)

// refusals judges whether a provider that refuses us means the credentials or one message. A
// success tells: with the same credentials it comes only if the refusals before were meant for
// their messages. It is safe for concurrent use.
type refusals struct {
	seed maphash.Seed

	mu       sync.Mutex
	accepted time.Time                   // the last success with these credentials, of any worker
	messages *lru.Cache[uint64, refused] // by a message's hash
	first    time.Time                   // the first refusal since the last success
	users    map[uint64]struct{}         // whose messages were refused since, at most stopUsers
	accounts map[string]struct{}         // the same of accounts, at most maxAccounts
	senders  [stopAccounts]sender        // the accounts that sent last, the latest first
}

// refused is what is known of a message that was refused.
type refused struct {
	at    time.Time // the last time
	times int       // how often, but for those that were its own failure
}

// sender is when an account sent last.
type sender struct {
	account string
	at      time.Time
}

// Sent is a message that a provider was asked to take.
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

// sends notes that a message of an account is sent.
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

// last returns when the last success with the present credentials was.
func (r *refusals) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Refusal is what a refusal means.
type Refusal struct {
	// Own reports that the message is at fault: since it was refused before, the provider has
	// taken another one with the same credentials.
	Own bool
	// Times is how often it was refused without being known to be at fault.
	Times int
	// Stop reports that the credentials are at fault: the channel is to be stopped.
	Stop bool
}

// refuse notes that the provider refused a message, and judges what that means.
func (r *refusals) refuse(m Sent, now time.Time) Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accepted.After(now.Add(sentWithin)) { // it was noted while the clock was ahead
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
	oldest := r.senders[stopAccounts-1]
	alone := oldest.at.IsZero() || now.Sub(oldest.at) >= sentWithin
	return Refusal{
		Own: own, Times: known.times,
		Stop: len(r.users) >= stopUsers && (alone || len(r.accounts) >= stopAccounts) && now.Sub(r.first) >= stopAfter,
	}
}

// has reports whether a message was refused.
func (r *refusals) has(m Sent) bool { return r.messages.Contains(r.message(m)) }

// spares reports whether no message of an account was refused since the last success, though
// others' were. Its next message tells whether the credentials are at fault.
func (r *refusals) spares(account string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, refused := r.accounts[account]
	return !refused && len(r.accounts) > 0 && len(r.accounts) < maxAccounts
}

// resume forgets what stopped the channel.
func (r *refusals) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
}

// reset forgets what was learned with other credentials.
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
