package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// ErrReply is returned when a script's reply has not the shape it is
// documented to have: the store is not Redis, or runs another version's
// script.
var ErrReply = errors.New("unexpected reply of a script")

// NoValue stands for a word that is absent; no account, attempt or number is it.
const NoValue = "."

// word is a time in Unix ms as one word.
func Word(at time.Time) string {
	if at.IsZero() {
		return NoValue
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// yes reads the answer of a script that says 1 or 0 first.
func Yes(in *ReplyReader) (bool, error) {
	first := in.Int(0)
	if in.Err == nil && first != 0 && first != 1 {
		return false, ReplyError(in.Doing, fmt.Sprintf("outcome %d", first))
	}
	return first == 1, in.Err
}

// fields reads the values of an HMGET; the first that is not what it should be
// is kept.
type Fields struct {
	Values []any
	Wrong  string
}

func (f *Fields) Text(i int) string {
	if i < len(f.Values) {
		if text, ok := f.Values[i].(string); ok {
			return text
		}
	}
	return "" // the field is absent
}

func (f *Fields) Int(i int) int64 {
	text := f.Text(i)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && f.Wrong == "" {
		f.Wrong = fmt.Sprintf("field %d of a record is no integer", i)
	}
	return n
}

func (f *Fields) Time(i int) time.Time {
	ms := f.Int(i)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (f *Fields) Err(doing string) error {
	if f.Wrong == "" {
		return nil
	}
	return ReplyError(doing, f.Wrong)
}

// endOfTime is later than any send time and exact in a Lua number.
const EndOfTime = int64(1) << 53

// run calls a script and returns its reply, an array.
func Run(ctx context.Context, client redis.Scripter, script *redis.Script, doing string, keys []string, args []any) (Reply, error) {
	v, err := script.Run(ctx, client, keys, args...).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	if r, ok := v.([]any); ok {
		return r, nil
	}
	return Reply{v}, nil
}

// milliseconds is how the scripts are told a time: "" stands for none.
func Milliseconds(at time.Time) any {
	if at.IsZero() {
		return ""
	}
	return at.UnixMilli()
}
