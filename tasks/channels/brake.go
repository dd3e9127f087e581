package channels

import "sync"

const (
	// ringSize is how many answers the brake remembers, and judgesFrom how many it needs.
	ringSize, judgesFrom = 100, 50
	// mostGone is how many percent of the answers may call a device gone.
	mostGone = 20
)

// judgement is what is to become of a device that its provider calls gone.
type judgement uint8

const (
	remove judgement = iota + 1 // it is gone
	hold                        // nobody knows yet whether the provider is right: the message waits
	trip                        // too many are gone at once: the channel is to be stopped
)

// brake judges whether to believe a provider that calls devices gone. A wrong project, key or
// environment makes it say so of every device.
type brake struct {
	mu      sync.Mutex
	ring    [ringSize]answered
	next    int
	count   int
	success bool // one of the answers since the start was a success
}

// answered is one answer of the ring.
type answered struct {
	device uint64 // its hash
	gone   bool
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
// message comes again: otherwise a single one would stop the channel.
func (b *brake) gone(device uint64, proved bool) judgement {
	b.mu.Lock()
	defer b.mu.Unlock()
	gone, known := 0, false
	for _, a := range b.ring[:b.count] {
		if a.gone {
			gone++
			known = known || a.device == device
		}
	}
	if !known {
		full, leaves := b.count == ringSize, b.ring[b.next].gone
		b.add(answered{device: device, gone: true})
		if gone++; full && leaves {
			gone--
		}
	}
	proved = proved || b.success
	switch {
	case b.count >= judgesFrom && (!proved || gone*100 > mostGone*b.count):
		return trip
	case !proved:
		return hold
	default:
		return remove
	}
}

// reset forgets all answers.
func (b *brake) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.count, b.success = 0, 0, false
}

func (b *brake) add(a answered) {
	b.ring[b.next] = a
	b.next = (b.next + 1) % ringSize
	b.count = min(b.count+1, ringSize)
}
