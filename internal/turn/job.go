package turn

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Job is the turn of a long job. One program at a time has it. The next program with the same work
// continues where the last one stopped, even if that was killed.
type Job struct {
	client redis.Scripter
	key    string
	owner  string
	work   string
}

// NewJob returns a turn that is not taken yet. key is one of keyspace.Keys.Turn. work names the
// work in the caller's words: a program with other work begins from the start.
func NewJob(client redis.Scripter, key, work string) *Job {
	return &Job{client: client, key: key, owner: keyspace.NewToken(), work: work}
}

// Take takes the turn for the given time; Keep prolongs it. notes are the notes of the turn that it
// continues, "" for none. If another program has the turn, taken is false, and wait is how long
// that turn lasts at least.
func (j *Job) Take(ctx context.Context, lasts time.Duration) (notes string, taken bool, wait time.Duration, err error) {
	return j.call(ctx, "take", lasts, "")
}

// Keep prolongs the turn to the given time from now, zero to give it back, and stores notes for the
// program that continues it. kept is false if another program has taken the turn meanwhile.
func (j *Job) Keep(ctx context.Context, notes string, lasts time.Duration) (kept bool, err error) {
	_, kept, _, err = j.call(ctx, "keep", lasts, notes)
	return kept, err
}

// Done ends the turn when the work is done: the next turn begins from the start.
func (j *Job) Done(ctx context.Context) error {
	_, _, _, err := j.call(ctx, "done", 0, "")
	return err
}

func (j *Job) call(
	ctx context.Context, what string, lasts time.Duration, notes string,
) (then string, taken bool, wait time.Duration, err error) {
	const doing = "taking the turn of a job"
	in := script.Call(ctx, j.client, lua.TurnJob, doing, []string{j.key}, []any{
		"", what, j.owner, lasts.Milliseconds(), j.work, notes,
	})
	if in.Int(0) == 0 {
		return "", false, time.Duration(in.Int(1)) * time.Millisecond, in.Err
	}
	return in.String(1), true, 0, in.Err
}
