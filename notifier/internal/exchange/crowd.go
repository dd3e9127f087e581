package exchange

import "crypto/sha256"

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

// Clear empties the crowd, since the provider accepted a message.
func (c *Crowd) Clear() { c.size = 0 }
