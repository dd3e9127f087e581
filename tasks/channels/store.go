package channels

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Store keeps the states of the channels, and the stop of all sending. Its methods return an
// *UnavailableError if Redis does not answer, and an *InvalidError for a name that no channel has.
// It is safe for concurrent use.
type Store struct {
	client redis.Cmdable
	keys   keyspace.Keys
	at     time.Time // replaces the server's time in tests
}

// NewStore returns the store behind client.
func NewStore(client redis.Cmdable, keys keyspace.Keys) *Store {
	return &Store{client: client, keys: keys}
}

// Load returns the state of each channel that has one, by name.
func (s *Store) Load(ctx context.Context) ([]State, error) {
	states, _, err := s.ask(ctx, s.client)()
	return states, err
}

// ask makes the reads of Load and Sending in a client or a pipeline, and returns the function that loads
// the replies.
func (s *Store) ask(ctx context.Context, client redis.Cmdable) (load func() ([]State, *SendingStop, error)) {
	reply := client.HGetAll(ctx, s.keys.Stopped())
	return func() (states []State, sending *SendingStop, err error) {
		fields, err := reply.Result()
		if err != nil {
			return nil, nil, store.Explain(err, "looking at the channels")
		}
		if value, stopped := fields[fieldStopped]; stopped {
			sending = decodeSending(value)
		}
		return decodeStates(fields), sending, nil
	}
}

// Stop stops a channel for all workers, within a second or two. It reports false if the channel was
// stopped before: then it keeps its reason.
func (s *Store) Stop(ctx context.Context, name string, why Stop) (stopped bool, err error) {
	const doing = "stopping a channel"
	if err := check(name); err != nil {
		return false, err
	}
	if len(why.Detail) > MaxDetail {
		why.Detail = strings.ToValidUTF8(why.Detail[:MaxDetail], "")
	}
	text, err := json.Marshal(why)
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	in := script.Call(ctx, s.client, lua.ChannelStop, doing, []string{s.keys.Stopped()},
		[]any{script.Milliseconds(s.at), name, text})
	stopped = in.Int(0) == 1
	_ = in.Time(1)
	return stopped, in.Err
}

// Resume makes a stopped channel deliver again. It reports whether it was stopped.
func (s *Store) Resume(ctx context.Context, name string) (was bool, err error) {
	return s.resume(ctx, name, "")
}

// ResumeProbed is Resume after a probe of a channel in a State: a later stop stays.
func (s *Store) ResumeProbed(ctx context.Context, of State) (was bool, err error) {
	return s.resume(ctx, of.Name, strconv.FormatInt(of.Since.UnixMilli(), 10))
}

func (s *Store) resume(ctx context.Context, name, since string) (bool, error) {
	const doing = "resuming a channel"
	if err := check(name); err != nil {
		return false, err
	}
	return script.Yes(script.Call(ctx, s.client, lua.ChannelResume, doing, []string{s.keys.Stopped()}, []any{name, since}))
}

// TakeProbe takes the turn to probe a stopped channel: one worker has it at a time. The first turn
// comes at the time first after the stop, the others every so often. It reports false if
// another worker has the turn, or the channel is not stopped.
func (s *Store) TakeProbe(ctx context.Context, name string, first, every time.Duration) (taken bool, err error) {
	const doing = "taking the turn to probe a channel"
	if err := check(name); err != nil {
		return false, err
	}
	in := script.Call(ctx, s.client, lua.ChannelTakeProbe, doing, []string{s.keys.Stopped()},
		[]any{script.Milliseconds(s.at), name, first.Milliseconds(), every.Milliseconds()})
	taken = in.Int(0) == 1
	_ = in.Time(1)
	return taken, in.Err
}

// Accept stores that a channel delivered at a time with the credentials of an identity, "" if
// unknown.
func (s *Store) Accept(ctx context.Context, name, identity string, at time.Time) error {
	return s.note(ctx, name, fieldAccepted, strconv.FormatInt(at.UnixMilli(), 10)+" "+identity)
}

// NoteWave stores a wave.
func (s *Store) NoteWave(ctx context.Context, name string, w Wave) error {
	text, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("storing a wave: %w", err)
	}
	return s.note(ctx, name, fieldWave, string(text))
}

func (s *Store) note(ctx context.Context, name, field, value string) error {
	if err := check(name); err != nil {
		return err
	}
	return store.Explain(s.client.HSet(ctx, s.keys.Stopped(), name+field, value).Err(), "storing the state of a channel")
}

func check(name string) error {
	if !keyspace.ValidName(name) {
		return &fault.InvalidError{Field: "channel", Value: name, Want: keyspace.WantName}
	}
	return nil
}

// unixMilli reads a time; zero if it is none.
func unixMilli(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
