package tasks

import (
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Rehearse begins a dry run of many messages, in which those accepted earlier
// count. Close it.
func (s *Submitter) Rehearse(ctx context.Context) (*Rehearsal, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return nil, err
	}
	return &Rehearsal{submitter: s, timeline: t, rehearsal: t.Rehearse(s.client)}, nil
}

// Rehearsal is a dry run of many messages. Its rules are those there were at
// its start.
type Rehearsal struct {
	submitter *Submitter
	timeline  *sendlimit.Timeline
	rehearsal *sendlimit.Rehearsal
}

// Submit answers what Submitter.Submit would have answered after what this
// rehearsal accepted before. Nothing is sent.
func (r *Rehearsal) Submit(ctx context.Context, m Message) (Outcome, error) {
	o, request := r.submitter.judge(ctx, m, r.timeline, r.rehearsal.Reserve)
	if o.Outcome == Accepted && !o.Replayed {
		r.submitter.capacity.take(request.content) // its copies take room too
	}
	return o, request.err
}

// Close removes what the rehearsal left in the store.
func (r *Rehearsal) Close(ctx context.Context) error { return r.rehearsal.Close(ctx) }
