package exchange

import (
	"crypto/sha256"

	"github.com/sendlimit/sendlimiter/notifier"
)

// crowd is the number of devices that concern all.
const crowd = 3

// Crowd has the devices that a provider asked to slow down since it last accepted a message. An
// answer that names no owner is about one device, until three devices got it. The zero Crowd is
// empty. It is not safe for concurrent use.
type Crowd struct {
	devices [crowd][sha256.Size]byte // hashes, since an address is a secret
	size    int
}

// Add adds a device, and reports whether all are concerned.
func (c *Crowd) Add(address string) bool {
	device := sha256.Sum256([]byte(address))
	for _, known := range c.devices[:c.size] {
		if known == device {
			return c.size == crowd
		}
	}
	if c.size < crowd {
		c.devices[c.size] = device
		c.size++
	}
	return c.size == crowd
}

// Note notes the result of a device, and returns it: all is paused if it concerns all, and otherwise a
// limit of the device is unclear.
func (c *Crowd) Note(r notifier.Result, address string, all notifier.Pause) notifier.Result {
	switch {
	case r.Status == notifier.Delivered:
		c.Clear()
	case r.Pause != notifier.PauseDevice:
	case c.Add(address):
		r.Pause = all
	default:
		r.Unclear = true
	}
	return r
}

// Clear empties the crowd, since the provider accepted a message.
func (c *Crowd) Clear() { c.size = 0 }
