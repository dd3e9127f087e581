package queue

import (
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// MaxQueues is the most queues that a prefix may have.
const MaxQueues = 64

// slots is the number of slots of a Redis Cluster.
const slots = 16_384

// Name returns the name of the queue under a prefix, "" for keyspace.DefaultPrefix, or of one of its
// queues.
func Name(prefix string) string {
	if prefix == "" {
		prefix = keyspace.DefaultPrefix
	}
	return prefix + ":push"
}

// Names returns the names of n queues under a prefix, one in each n-th of a cluster's slots, in the
// order of the slots. All programs find the same names. One is Name. The others append to it the
// first number that hashes into the middle half of their part: there, a queue is on the right
// master even if the masters' shares differ a little.
func Names(prefix string, n int) []string {
	first := Name(prefix)
	names := make([]string, n)
	names[share(slot(first), n)] = first
	for number, found := 1, 1; found < n; number++ {
		name := first + ":" + strconv.Itoa(number)
		s := slot(name)
		if i := share(s, n); names[i] == "" && inMiddle(s, i, n) {
			names[i] = name
			found++
		}
	}
	return names
}

// share returns the n-th of all slots that has a slot.
func share(slot, n int) int { return slot * n / slots }

// inMiddle reports whether a slot is in the middle half of the i-th share of n.
func inMiddle(slot, i, n int) bool {
	behind := slot*n - i*slots // of slots, in n-ths
	return behind >= slots/4 && behind < slots*3/4
}

// ours reports whether a name is a lane of the prefix with this first queue, or in its Names for
// some number of queues.
func ours(first, name string) bool {
	number, numbered := strings.CutPrefix(name, first+":")
	if !numbered {
		return name == first
	}
	if isLane(first, name) {
		return true
	}
	n, err := strconv.Atoi(number)
	return err == nil && n > 0 && strconv.Itoa(n) == number
}

// slot returns the slot of a hash tag: CRC-16/XMODEM modulo the number of slots.
func slot(tag string) int {
	crc := uint16(0)
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}
