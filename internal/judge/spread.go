package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
)

// Shift is a message that shifts, for the spread of its policy.
type Shift struct {
	Account, User, ID, Category string
	At, Until                   time.Time // the time asked for, zero for now, and the last one, zero for any
}

// keyBits is the length of Shift.Key: scripts compute exactly with such numbers.
const keyBits = 48

// Key returns a number of the message that is the same at every try. Ids repeat across users: a
// number of the id only would give all users of a campaign the same time.
func (m Shift) Key() int64 {
	sum := sha256.Sum256([]byte(m.Account + "\x00" + m.User + "\x00" + m.ID))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> (64 - keyBits))
}

// Last returns the last time of the shift, Unix ms.
func (m Shift) Last() int64 {
	if m.Until.IsZero() {
		return script.EndOfTime
	}
	return m.Until.UnixMilli()
}

// Spread returns the length and the key of the spread of a shift, as lua/judge/spread.lua reads
// them; "" for no spread.
func (s *Ruleset) Spread(m Shift) string {
	over := s.Policy.ShiftSpreadOf(m.Category)
	if over == 0 {
		return ""
	}
	return strconv.FormatInt(over.Milliseconds(), 10) + " " + strconv.FormatInt(m.Key(), 10)
}

// search returns the spread of a shift as lua/place/next_free.lua reads it; "" for none.
func (s *Ruleset) search(m *Shift) string {
	if m == nil {
		return ""
	}
	spread := s.Spread(*m)
	if spread == "" {
		return ""
	}
	return script.Word(m.At) + " " + strconv.FormatInt(m.Last(), 10) + " " + spread
}
