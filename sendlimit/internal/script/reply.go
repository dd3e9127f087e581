package script

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// reply is a script's answer. Its accessors check shape and type; the first
// that does not fit is kept in a replyReader.
type Reply []any

type ReplyReader struct {
	Reply Reply
	Doing string
	Err   error
}

func Read(r Reply, doing string) *ReplyReader { return &ReplyReader{Reply: r, Doing: doing} }

func ReplyError(doing, what string) error {
	return fmt.Errorf("%s: %w: %s", doing, fault.ErrReply, what)
}

func (r *ReplyReader) Fail(i int, want string) {
	if r.Err == nil {
		r.Err = ReplyError(r.Doing, fmt.Sprintf("element %d of %d is no %s", i, len(r.Reply), want))
	}
}

func (r *ReplyReader) Int(i int) int64 {
	if i < len(r.Reply) {
		if n, ok := r.Reply[i].(int64); ok {
			return n
		}
	}
	r.Fail(i, "integer")
	return 0
}

func (r *ReplyReader) String(i int) string {
	if i < len(r.Reply) {
		if s, ok := r.Reply[i].(string); ok {
			return s
		}
	}
	r.Fail(i, "string")
	return ""
}

// strings reads the texts from element i on; nil where there are none.
func (r *ReplyReader) Strings(i int) []string {
	var texts []string
	for ; i < len(r.Reply); i++ {
		texts = append(texts, r.String(i))
	}
	return texts
}

// time reads Unix milliseconds; 0 is no time.
func (r *ReplyReader) Time(i int) time.Time {
	ms := r.Int(i)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// nested reads an array within the array.
func (r *ReplyReader) Nested(i int) *ReplyReader {
	if i < len(r.Reply) {
		if v, ok := r.Reply[i].([]any); ok {
			return Read(v, r.Doing)
		}
	}
	r.Fail(i, "array")
	return Read(nil, r.Doing)
}

// absorb keeps the error of a nested reader.
func (r *ReplyReader) Absorb(nested *ReplyReader) {
	if r.Err == nil {
		r.Err = nested.Err
	}
}
