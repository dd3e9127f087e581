package sendlimit

import (
	"fmt"
	"time"
)

// reply is a script's answer. Its accessors check shape and type; the first
// that does not fit is kept in a replyReader.
type reply []any

type replyReader struct {
	reply reply
	doing string
	err   error
}

func read(r reply, doing string) *replyReader { return &replyReader{reply: r, doing: doing} }

func replyError(doing, what string) error {
	return fmt.Errorf("%s: %w: %s", doing, ErrReply, what)
}

func (r *replyReader) fail(i int, want string) {
	if r.err == nil {
		r.err = replyError(r.doing, fmt.Sprintf("element %d of %d is no %s", i, len(r.reply), want))
	}
}

func (r *replyReader) int(i int) int64 {
	if i < len(r.reply) {
		if n, ok := r.reply[i].(int64); ok {
			return n
		}
	}
	r.fail(i, "integer")
	return 0
}

func (r *replyReader) string(i int) string {
	if i < len(r.reply) {
		if s, ok := r.reply[i].(string); ok {
			return s
		}
	}
	r.fail(i, "string")
	return ""
}

// strings reads the texts from element i on; nil where there are none.
func (r *replyReader) strings(i int) []string {
	var texts []string
	for ; i < len(r.reply); i++ {
		texts = append(texts, r.string(i))
	}
	return texts
}

// time reads Unix milliseconds; 0 is no time.
func (r *replyReader) time(i int) time.Time {
	ms := r.int(i)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// nested reads an array within the array.
func (r *replyReader) nested(i int) *replyReader {
	if i < len(r.reply) {
		if v, ok := r.reply[i].([]any); ok {
			return read(v, r.doing)
		}
	}
	r.fail(i, "array")
	return read(nil, r.doing)
}

// absorb keeps the error of a nested reader.
func (r *replyReader) absorb(nested *replyReader) {
	if r.err == nil {
		r.err = nested.err
	}
}

// reservations reads id and time pairs from element i on.
func (r *replyReader) reservations(i int) []Reservation {
	if i >= len(r.reply) {
		return nil
	}
	list := make([]Reservation, 0, (len(r.reply)-i)/2)
	for ; i < len(r.reply); i += 2 {
		list = append(list, Reservation{ID: r.string(i), At: r.time(i + 1)})
	}
	return list
}
