package exchange

import "crypto/sha256"

// crowd is how many devices make one.
const crowd = 3

// Crowd holds the devices that a provider asked to slow down since it last accepted a message. An
// answer that does not say whom it concerns is about one device, until it came for three. The zero
// Crowd is empty. It is not safe for concurrent use.
type Crowd struct {
	devices [crowd][sha256.Size]byte // hashes, since an address is a secret
	size    int
}

// Add adds a device, and reports whether the answer concerns all.
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

// Clear notes that the provider accepted a message.
func (c *Crowd) Clear() { c.size = 0 }
