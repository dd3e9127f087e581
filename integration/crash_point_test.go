package integration_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/notifier"
)

// crashPoint is where a process kills itself: just before it makes a call, or after the
// other side has done what was requested and before the process knows.
//
// A program calls others only through its client and its notifier. So the tests put the
// points there: the product has no code for them, and none of its calls can lack them.
type crashPoint struct {
	Call  string `json:"call"`
	After bool   `json:"after"`
	Nth   int    `json:"nth"` // which of these calls, from 1
}

func (p crashPoint) String() string {
	when := "before"
	if p.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s", when, p.Call)
}

const (
	callDial     = "dial"
	callNotify   = "notify"
	callAnnounce = "announce"
	callPost     = "post"
	callClaim    = "message/claim"
	callSettle   = "message/settle"
	// The same for notices.
	callNoticeClaim  = "notice/claim"
	callNoticeSettle = "notice/settle"
)

func claims(call string) bool  { return call == callClaim || call == callNoticeClaim }
func settles(call string) bool { return call == callSettle || call == callNoticeSettle }

// crashHook sees every call of a process, tracks the messages it has in hand, and kills
// the process at its point.
type crashHook struct {
	names   scriptNames
	prefix  string
	point   crashPoint // without a call, the process lives
	journal *crashJournal

	mu   sync.Mutex // held for ever by the one that dies: nobody else continues
	made map[string]int
}

func newCrashHook(names scriptNames, prefix string, point crashPoint, journal *crashJournal) *crashHook {
	return &crashHook{names: names, prefix: prefix, point: point, journal: journal, made: make(map[string]int)}
}

// crashCall is one round trip; a pipeline carries several calls.
type crashCall struct {
	cmds  []redis.Cmder
	of    []string // the name of each command
	names []string // each once
	nth   []int    // how often each of them was made
}

func (h *crashHook) before(cmds []redis.Cmder, names ...string) crashCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	call := crashCall{cmds: cmds, names: names}
	for _, cmd := range cmds {
		name := h.names.of(h.prefix, cmd)
		call.of = append(call.of, name)
		// A lease of a notice is renewed only if the machine is slow, and a warning of an outage
		// asks the store.
		if name != "multi" && name != "exec" && name != "notice/renew" && name != "ping" && !slices.Contains(call.names, name) {
			call.names = append(call.names, name)
		}
	}
	for _, name := range call.names {
		h.made[name]++
		call.nth = append(call.nth, h.made[name])
		if h.made[name] == 1 {
			h.journal.write(crashEvent{Event: eventCalled, Call: name})
		}
	}
	h.reached(call, false)
	for i, cmd := range cmds {
		if claims(call.of[i]) {
			h.hand(cmd, call.of[i], eventClaims)
		}
	}
	return call
}

func (h *crashHook) after(call crashCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, cmd := range call.cmds {
		if claims(call.of[i]) || settles(call.of[i]) {
			h.answered(cmd, call.of[i])
		}
	}
	h.reached(call, true)
}

// answered tracks the answer to a claim or a settlement.
func (h *crashHook) answered(cmd redis.Cmder, name string) {
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") && claims(name) {
		h.hand(cmd, name, eventFree)
	}
	script, ok := cmd.(*redis.Cmd)
	if !ok {
		return
	}
	reply, _ := script.Val().([]any)
	if len(reply) == 0 {
		return // an error: it may have been done
	}
	switch first, _ := reply[0].(int64); {
	case claims(name) && first == 0: // send it
	case settles(name) && first == 0: // another has it
		h.hand(cmd, name, eventDoubts)
		h.hand(cmd, name, eventFree)
	default:
		h.hand(cmd, name, eventFree)
	}
}

// hand records what happens to the message or notice of a claim or a settlement.
func (h *crashHook) hand(cmd redis.Cmder, name, event string) {
	const keys = 3 // EVALSHA, the script and the number of keys come first
	args := cmd.Args()
	count, _ := args[2].(int)
	nonce := 3 // in its ARGV
	switch name {
	case callClaim:
		nonce = 11
	case callSettle:
		nonce = 2
	}
	e := crashEvent{Event: event, Nonce: fmt.Sprint(args[keys+count+nonce-1])}
	if _, record, ok := strings.Cut(fmt.Sprint(args[keys]), "}:m:"); ok {
		end := strings.LastIndexByte(record, ':')
		e.User, e.ID = record[:end], record[end+1:]
	} else {
		_, e.ID, _ = strings.Cut(fmt.Sprint(args[keys]), "}:n:")
	}
	h.journal.write(e)
}

// reached kills the process if this is its point.
func (h *crashHook) reached(call crashCall, after bool) {
	if h.point.After != after {
		return
	}
	for i, name := range call.names {
		if name == h.point.Call && call.nth[i] == h.point.Nth {
			h.journal.write(crashEvent{Event: eventDied, Point: &h.point})
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			panic(fmt.Sprint("still alive: ", err, <-make(chan struct{})))
		}
	}
}

// DialHook has points around connecting.
func (h *crashHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		call := h.before(nil, callDial)
		conn, err := next(ctx, network, addr)
		h.after(call)
		return conn, err
	}
}

// ProcessHook has points around a command.
func (h *crashHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		call := h.before([]redis.Cmder{cmd})
		err := next(ctx, cmd)
		h.after(call)
		return err
	}
}

// ProcessPipelineHook has points around a pipeline: the points of all its calls, which
// are made together.
func (h *crashHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		call := h.before(cmds)
		err := next(ctx, cmds)
		h.after(call)
		return err
	}
}

// crashNotifier has points around a delivery.
type crashNotifier struct {
	hook *crashHook
	next notifier.Notifier
}

// Notify delivers through the inner notifier.
func (n crashNotifier) Notify(ctx context.Context, what notifier.Notification) notifier.Result {
	call := n.hook.before(nil, callNotify)
	result := n.next.Notify(ctx, what)
	if result.Uncertain() {
		n.hook.journal.write(crashEvent{Event: eventDoubts, User: what.User, ID: what.ID, Detail: string(result.Reason)})
	}
	n.hook.after(call)
	return result
}
