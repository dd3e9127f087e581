package channels

import (
	"sync"
	"time"
)

const (
	// ringSize is how many answers the brake remembers, and judgesFrom how many it needs.
	ringSize, judgesFrom = 100, 50
	// maxGone is how many percent of the answers may call a device gone.
	maxGone = 20
	// maxOfUser is how many devices of one user it remembers as gone.
	maxOfUser = 5
)

// Judgement is what is to become of a device that its provider calls gone.
type Judgement uint8

// The judgements.
const (
	Remove Judgement = iota + 1 // it is gone
	Keep                        // too many are: the message is not for it, and the device stays
	Hold                        // nobody knows yet whether the provider is right: the message waits
	Trip                        // all are gone: the channel is to be stopped, and the message waits
)

// brake judges whether to believe a provider that calls devices gone. A wrong project, key or
// environment makes it say so of every device.
type brake struct {
	mu      sync.Mutex
	ring    [ringSize]answered
	next    int
	count   int
	success bool      // one of the answers since the start was a success
	kept    time.Time // when a device was kept last
}

// answered is one answer of the ring.
type answered struct {
	device uint64 // its hash
	gone   bool
	of     Sent // the message, if gone
}

// note notes an answer that does not call the device gone. One that would have been given to
// any device, such as an error of the provider, is not to be noted.
func (b *brake) note(device uint64, success bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.success = b.success || success
	b.add(answered{device: device})
}

// gone notes that the provider calls a device gone, and judges it. proved reports that the
// channel has delivered with the present credentials. A device counts once, however often its
// message comes again, and a user maxOfUser times: otherwise a single one would be taken for
// all.
func (b *brake) gone(device uint64, of Sent, proved bool, now time.Time) Judgement {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone, ofUser, known := 0, 0, false
	for _, a := range b.ring[:b.count] {
		if a.gone {
			gone++
			known = known || a.device == device
			if a.of.User == of.User {
				ofUser++
			}
		}
	}
	if !known && ofUser < maxOfUser {
		full, leaves := b.count == ringSize, b.ring[b.next].gone
		b.add(answered{device: device, gone: true, of: of})
		if gone++; full && leaves {
			gone--
		}
	}
	switch proved = proved || b.success; {
	case !proved && gone >= judgesFrom:
		return Trip
	case !proved:
		return Hold
	case b.count >= judgesFrom && gone*100 > maxGone*b.count:
		b.kept = now
		return Keep
	default:
		return Remove
	}
}

// wave returns what is to be told of devices that were kept a moment ago; nil if none was.
func (b *brake) wave(now time.Time) *Wave {
	b.mu.Lock()
	defer b.mu.Unlock()
	if age := now.Sub(b.kept); b.kept.IsZero() || age < 0 || age > WaveLasts {
		return nil
	}
	w := &Wave{At: now, Of: b.count, Accounts: map[string]int{}, Campaigns: map[string]int{}}
	for _, a := range b.ring[:b.count] {
		if a.gone {
			w.Gone++
			w.Accounts[a.of.Account]++
			w.Campaigns[a.of.Campaign]++
		}
	}
	return w
}

// reset forgets all answers.
func (b *brake) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.count, b.success, b.kept = 0, 0, false, time.Time{}
}

func (b *brake) add(a answered) {
	b.ring[b.next] = a
	b.next = (b.next + 1) % ringSize
	b.count = min(b.count+1, ringSize)
}
