package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// fake is a product that refuses bob, fails for carol and delivers the rest at once.
type fake struct {
	mu      sync.Mutex
	order   []string
	deliver func(id string) error
}

func (f *fake) Open(_ context.Context, store string, deliver func(id string) error) (string, error) {
	f.deliver = deliver
	return "fake on " + store, nil
}

func (f *fake) Submit(_ context.Context, m side.Message) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = append(f.order, m.ID)
	switch m.User {
	case "bob":
		return false, nil
	case "carol":
		return false, errors.New("the store is away")
	default:
		return true, f.deliver(m.ID)
	}
}

func (f *fake) Pending(context.Context) (int, error) { return len(f.order), nil }

func (*fake) Close() error { return nil }

// A side answers the harness's requests, submits a user's messages in their order, and appends each
// delivery to the worker's file.
func TestProtocol(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	work, results, delivered := filepath.Join(folder, "work"), filepath.Join(folder, "results"), filepath.Join(folder, "deliveries")
	at := time.UnixMilli(1_800_000_000_123)
	messages := []side.Message{{ID: "1", User: "alice", At: at}, {ID: "2", User: "bob", At: at}, {ID: "3", User: "alice", At: at}}
	require.NoError(t, writeWork(work, messages))
	read, err := side.ReadWork(work)
	require.NoError(t, err)
	for i, m := range read {
		require.True(t, messages[i].At.Equal(m.At))
		m.At = messages[i].At
		require.Equal(t, messages[i], m)
	}

	toSide, in := io.Pipe()
	out, fromSide := io.Pipe()
	product := new(fake)
	ended := make(chan error, 1)
	go func() { ended <- side.Run(t.Context(), product, toSide, fromSide); _ = fromSide.Close() }()
	p := &process{in: in, replies: make(chan side.Reply, 1), ended: make(chan struct{})}
	go p.listen(out)
	ask := func(r side.Request) (side.Reply, error) { return p.ask(t.Context(), r) }

	_, err = ask(side.Request{Op: side.OpStart, Role: "both"})
	require.ErrorContains(t, err, `role is "both", not submit or work`)
	reply, err := ask(side.Request{Op: side.OpStart, Role: side.RoleWork, Store: "memory", Deliveries: delivered})
	require.NoError(t, err)
	require.Equal(t, "fake on memory", reply.Settings)
	reply, err = ask(side.Request{Op: side.OpSubmit, Work: work, Results: results, Callers: 3})
	require.NoError(t, err)
	sub := submission{seconds: reply.Seconds}
	require.NoError(t, sub.readAnswers(results, messages))
	require.Equal(t, "ara", string(sub.answers))
	require.Equal(t, []side.Message{messages[0], messages[2]}, sub.accepted)
	require.Less(t, strings.Index(strings.Join(product.order, ""), "1"), strings.Index(strings.Join(product.order, ""), "3"))
	reply, err = ask(side.Request{Op: side.OpStatus})
	require.NoError(t, err)
	require.Equal(t, 3, reply.Pending)

	require.NoError(t, writeWork(work, []side.Message{{ID: "4", User: "carol", At: at}}))
	_, err = ask(side.Request{Op: side.OpSubmit, Work: work, Results: results, Callers: 1})
	require.ErrorContains(t, err, "submit a message: the store is away")
	_, err = ask(side.Request{Op: "dance"})
	require.ErrorContains(t, err, `op is "dance"`)
	_, err = ask(side.Request{Op: side.OpStop})
	require.NoError(t, err)
	require.NoError(t, <-ended)

	d := newDeliveries(delivered)
	require.NoError(t, d.read())
	require.Equal(t, 2, d.count)
	content, err := os.ReadFile(delivered)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(content), "1,"))
	require.Len(t, side.Title+side.Body, 150)
}
