package script

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Reply is a script's answer.
type Reply []any

// ReplyReader reads the elements of a Reply. It keeps the first error: an element is missing or has
// another type.
type ReplyReader struct {
	Reply Reply
	Doing string // for the error
	Err   error
}

// Read returns a reader of a reply; doing names the operation for errors.
func Read(r Reply, doing string) *ReplyReader { return &ReplyReader{Reply: r, Doing: doing} }

// ReplyError returns an ErrReply with what is wrong with a reply.
func ReplyError(doing, what string) error {
	return fmt.Errorf("%s: %w: %s", doing, fault.ErrReply, what)
}

// Fail records that an element is not as wanted, unless there is an error already.
func (r *ReplyReader) Fail(i int, want string) {
	if r.Err == nil {
		r.Err = ReplyError(r.Doing, fmt.Sprintf("element %d of %d is no %s", i, len(r.Reply), want))
	}
}

// Int reads an integer.
func (r *ReplyReader) Int(i int) int64 {
	if i < len(r.Reply) {
		if n, ok := r.Reply[i].(int64); ok {
			return n
		}
	}
	r.Fail(i, "integer")
	return 0
}

// String reads a text.
func (r *ReplyReader) String(i int) string {
	if i < len(r.Reply) {
		if s, ok := r.Reply[i].(string); ok {
			return s
		}
	}
	r.Fail(i, "string")
	return ""
}

// Strings reads the texts from element i on; nil if there are none.
func (r *ReplyReader) Strings(i int) []string {
	var texts []string
	for ; i < len(r.Reply); i++ {
		texts = append(texts, r.String(i))
	}
	return texts
}

// Time reads Unix milliseconds; 0 is the zero time.
func (r *ReplyReader) Time(i int) time.Time {
	ms := r.Int(i)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Nested reads an array within the array.
func (r *ReplyReader) Nested(i int) *ReplyReader {
	if i < len(r.Reply) {
		if v, ok := r.Reply[i].([]any); ok {
			return Read(v, r.Doing)
		}
	}
	r.Fail(i, "array")
	return Read(nil, r.Doing)
}

// Absorb keeps the error of a nested reader.
func (r *ReplyReader) Absorb(nested *ReplyReader) {
	if r.Err == nil {
		r.Err = nested.Err
	}
}
