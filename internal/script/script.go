package script

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// NoValue means an absent word. No account, attempt or number is written like this.
const NoValue = "."

// Word formats a time in Unix ms as one word.
func Word(at time.Time) string {
	if at.IsZero() {
		return NoValue
	}
	return strconv.FormatInt(at.UnixMilli(), 10)
}

// Yes reads a reply whose first element is 1 or 0.
func Yes(in *ReplyReader) (bool, error) {
	first := in.Int(0)
	if in.Err == nil && first != 0 && first != 1 {
		return false, ReplyError(in.Doing, fmt.Sprintf("outcome %d", first))
	}
	return first == 1, in.Err
}

// Fields are the fields of a hash that an HMGET read, by name. Err returns the first error.
type Fields struct {
	names  []string
	values []any
	wrong  string
}

// ReadFields returns the fields with these names and the values of their HMGET.
func ReadFields(names []string, values []any) *Fields { return &Fields{names: names, values: values} }

// Lookup returns a field's text; ok is false if the hash does not have the field.
func (f *Fields) Lookup(name string) (text string, ok bool) {
	i := slices.Index(f.names, name)
	if i < 0 || i >= len(f.values) {
		f.Fail(fmt.Sprintf("field %q was not read", name))
		return "", false
	}
	text, ok = f.values[i].(string)
	return text, ok
}

// Has reports whether the hash has the field with a text other than "".
func (f *Fields) Has(name string) bool { return f.Text(name) != "" }

// Text returns a field's text; "" if the hash does not have the field.
func (f *Fields) Text(name string) string {
	text, _ := f.Lookup(name)
	return text
}

// Int returns a field's integer; 0 if the hash does not have the field.
func (f *Fields) Int(name string) int64 {
	text := f.Text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f.Fail(fmt.Sprintf("field %q is no integer", name))
	}
	return n
}

// Time returns a field's time, in Unix ms; zero if the hash does not have the field.
func (f *Fields) Time(name string) time.Time {
	ms := f.Int(name)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Fail records what is wrong with the fields, unless there is an error already.
func (f *Fields) Fail(wrong string) {
	if f.wrong == "" {
		f.wrong = wrong
	}
}

// Err returns an ErrReply if something is wrong with the fields.
func (f *Fields) Err(doing string) error {
	if f.wrong == "" {
		return nil
	}
	return ReplyError(doing, f.wrong)
}

// EndOfTime is later than any send time and exact in a Lua number.
const EndOfTime = int64(1) << 53

// While Redis moves the keys of a script to another node, the script is called again after waits
// that double. A client does the same if only KEYS move.
const (
	movingWait  = 8 * time.Millisecond
	movingWaits = 5
)

// Run calls a script and returns its reply.
func Run(ctx context.Context, client redis.Scripter, script *lua.Script, doing string, keys []string, args []any) (Reply, error) {
	v, err := script.Run(ctx, client, keys, args...).Result()
	for i := 0; i < movingWaits && store.IsMoving(err); i++ {
		if !wait(ctx, movingWait<<i) {
			break
		}
		v, err = script.Run(ctx, client, keys, args...).Result()
	}
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	if r, ok := v.([]any); ok {
		return r, nil
	}
	return Reply{v}, nil
}

// Call calls a script and returns a reader of its reply. Its Err has the error of the call, too.
func Call(ctx context.Context, client redis.Scripter, script *lua.Script, doing string, keys []string, args []any) *ReplyReader {
	reply, err := Run(ctx, client, script, doing, keys, args)
	return &ReplyReader{Reply: reply, Doing: doing, Err: err}
}

// Each calls a script n times in one pipeline, and returns a reader of each reply, as Call does.
func Each(
	ctx context.Context, client redis.Cmdable, script *lua.Script, doing string, n int, call func(i int) (keys []string, args []any),
) []*ReplyReader {
	replies := make([]*redis.Cmd, n)
	_, _ = client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each reply has its error
		for i := range replies {
			keys, args := call(i)
			replies[i] = pipe.EvalSha(ctx, script.Hash(), keys, args...)
		}
		return nil
	})
	readers := make([]*ReplyReader, n)
	for i, reply := range replies {
		values, err := reply.Slice()
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // a pipeline does not load it
			keys, args := call(i)
			readers[i] = Call(ctx, client, script, doing, keys, args)
			continue
		}
		readers[i] = &ReplyReader{Reply: values, Doing: doing, Err: store.Explain(err, doing)}
	}
	return readers
}

// wait waits for d. It reports false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Flag returns 1 for true, "" for false.
func Flag(set bool) any {
	if set {
		return 1
	}
	return ""
}

// Milliseconds formats a time for scripts; "" means none.
func Milliseconds(at time.Time) any {
	if at.IsZero() {
		return ""
	}
	return at.UnixMilli()
}
