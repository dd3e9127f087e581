package tally

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Numbers are counts to add to a hash.
type Numbers struct {
	Key     string
	Expires int64            // Unix ms: when the hash expires
	Counts  map[string]int64 // by the field of the hash
}

// Batch is what is added together, all or nothing. The keys of a batch share a hash tag.
type Batch struct {
	Calls   string // the key with the tokens of the last calls
	Numbers []Numbers
}

// Writer writes batches of counts, each once. It is safe for concurrent use.
type Writer struct {
	client   redis.Cmdable
	doing    string
	remember int

	turn    chan struct{} // of one Write at a time, with pending; a mutex would not end a wait with its context
	pending []pending
}

// pending is a batch that is not known to be written.
type pending struct {
	Batch

	token string
	tried bool // it may be written
}

// NewWriter returns a Writer. doing says what it does, for errors. The store remembers the
// tokens of about remember / 14 calls, which have to include a repeated one.
func NewWriter(client redis.Cmdable, doing string, remember int) *Writer {
	return &Writer{client: client, doing: doing, remember: remember, turn: make(chan struct{}, 1)}
}

// Write writes batches, after those that former calls could not write. What it could not
// write stays for the next call, and the first error is returned. What was written is not
// written twice, even if the reply got lost. take returns the batches: while it runs, no
// other Write of this Writer does.
func (w *Writer) Write(ctx context.Context, take func() []Batch) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return store.Explain(ctx.Err(), w.doing)
	}
	w.add(take())
	var failed error
	var left []pending
	away := make(map[string]bool)
	for i, p := range w.pending {
		if ctx.Err() != nil {
			left = append(slices.Clone(w.pending[i:]), left...) // these come first next time
			if failed == nil {
				failed = store.Explain(ctx.Err(), w.doing)
			}
			break
		}
		if away[p.Calls] {
			left = append(left, p)
			continue
		}
		// The node of one batch may be away, and that of another not.
		if err := w.write(ctx, p); err != nil {
			away[p.Calls] = true
			p.tried = p.tried || !store.NotSent(err)
			left = append(left, p)
			if failed == nil {
				failed = err
			}
		}
	}
	w.pending = left
	return failed
}

// add adds batches to the pending ones. A pending batch that was not tried grows, so that
// after a long outage at most two are pending for each Calls.
func (w *Writer) add(batches []Batch) {
	growing := make(map[string]int)
	for i, p := range w.pending {
		if !p.tried {
			growing[p.Calls] = i
		}
	}
	for _, b := range batches {
		if i, ok := growing[b.Calls]; ok {
			w.pending[i].merge(b)
			continue
		}
		w.pending = append(w.pending, pending{Batch: b, token: keyspace.NewToken()})
	}
}

// merge adds the numbers of a batch to another one.
func (b *Batch) merge(more Batch) {
	for _, n := range more.Numbers {
		found := false
		for i := range b.Numbers {
			if b.Numbers[i].Key == n.Key {
				for field, count := range n.Counts {
					b.Numbers[i].Counts[field] += count
				}
				found = true
			}
		}
		if !found {
			b.Numbers = append(b.Numbers, n)
		}
	}
}

func (w *Writer) write(ctx context.Context, p pending) error {
	keys := []string{p.Calls}
	args := []any{p.token, w.remember}
	for _, n := range p.Numbers {
		addition, err := json.Marshal([]any{n.Expires, n.Counts})
		if err != nil {
			return store.Explain(err, w.doing) // never: they are numbers
		}
		keys, args = append(keys, n.Key), append(args, addition)
	}
	answer, err := script.Run(ctx, w.client, lua.AddOnce, w.doing, keys, args)
	if err != nil {
		return err
	}
	_, err = script.Yes(script.Read(answer, w.doing))
	return err
}
