package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	// maxScreened is how many keys one call of the store looks up, and maxUnscreened how many may
	// wait.
	maxScreened   = 1000
	maxUnscreened = 4096
)

// keyScreen checks whether keys exist before anything else is done about them. All keys that arrive
// during one call of the store share the next call. So any number of wrong keys, from any
// addresses, costs the store one cheap call at a time, and a valid key does not wait because others
// were wrong.
type keyScreen struct {
	accounts *accounts.Accounts
	within   time.Duration // of one call

	mu      sync.Mutex
	waiting []*screened
	running bool
}

// screened is a key that waits for its result.
type screened struct {
	hash     string
	exists   bool
	err      error
	answered chan struct{} // closed
}

// exists reports whether a key exists, by its hash. The key may have expired.
func (k *keyScreen) exists(ctx context.Context, hash string) (bool, error) {
	one := &screened{hash: hash, answered: make(chan struct{})}
	k.mu.Lock()
	if len(k.waiting) >= maxUnscreened {
		k.mu.Unlock()
		return false, &fault.UnavailableError{Detail: fmt.Sprintf("too many keys are being checked (%d): try again in a moment", maxUnscreened)}
	}
	k.waiting = append(k.waiting, one)
	if !k.running {
		k.running = true
		go k.run(context.WithoutCancel(ctx))
	}
	k.mu.Unlock()
	select {
	case <-one.answered:
		return one.exists, one.err
	case <-ctx.Done():
		return false, fmt.Errorf("looking for a key: %w", ctx.Err())
	}
}

// run looks up keys until none wait.
func (k *keyScreen) run(ctx context.Context) {
	for {
		k.mu.Lock()
		n := min(len(k.waiting), maxScreened)
		group := k.waiting[:n:n]
		k.waiting = k.waiting[n:]
		if n == 0 {
			k.running, k.waiting = false, nil
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		k.answer(ctx, group)
	}
}

func (k *keyScreen) answer(ctx context.Context, group []*screened) {
	hashes := make([]string, len(group))
	for i, one := range group {
		hashes[i] = one.hash
	}
	ctx, cancel := context.WithTimeout(ctx, k.within)
	defer cancel()
	exist, err := k.accounts.KeysExist(ctx, hashes...)
	for i, one := range group {
		if one.err = err; err == nil {
			one.exists = exist[i]
		}
		close(one.answered)
	}
}
