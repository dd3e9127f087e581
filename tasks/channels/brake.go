package channels

import (
	"sync"
	"time"
)

const (
	// ringSize is how many answers the brake remembers, judgesFrom how many it needs.
	ringSize, judgesFrom = 100, 50
	// maxGone is how many percent of the answers may call a device gone.
	maxGone = 20
	// maxOfUser is how many gone devices of one user it counts.
	maxOfUser = 5
)

// Judgement says what to do with a device that its provider calls gone.
type Judgement uint8

// The judgements.
const (
	Remove Judgement = iota + 1 // remove it
	Keep                        // too many are gone: the device stays, without the message
	Hold                        // the provider may be wrong: the message waits
	Trip                        // all are gone: stop the channel, and the message waits
)

// brake judges whether to believe a provider that calls devices gone. A wrong project, key or
// environment makes it say so of every device.
type brake struct {
	mu      sync.Mutex
	ring    [ringSize]answered
	next    int
	count   int
	success bool      // any success since the start
	kept    time.Time // when a device was last kept
}

// answered is one answer of the ring.
type answered struct {
	device uint64 // hash
	gone   bool
	of     Sent // the message, if gone
}

// note adds an answer that does not call the device gone. Do not add answers that any device would
// get, such as an error of the provider.
func (b *brake) note(device uint64, success bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.success = b.success || success
	b.add(answered{device: device})
}

// gone adds that the provider calls a device gone, and judges it. proved reports that the
// channel has delivered with the present credentials. A device counts once, and a user at most
// maxOfUser times.
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

// wave describes the devices that were kept lately; nil for none.
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
