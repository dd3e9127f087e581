package messages_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Late messages of a class go out in the order in which they were promised, although the
// queue loses tasks, workers are away or die, and deliveries take time, fail or are given
// back. The relay finds lost tasks a minute after their times.
func TestLateMessagesKeepTheirOrderWhateverIsLost(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			late := tellLateOrder(t, rand.New(rand.NewPCG(seed, 1)))
			if seed == 0 { // the same in every run; in others nothing may be late
				require.Positive(t, late)
			}
		})
	}
}

// lateOrder is a story of one user's messages, their tasks and deliveries.
type lateOrder struct {
	*story.Messages

	random  *rand.Rand
	tokens  int
	sent    map[string]lateMessage
	tasks   map[string]lateTask     // by generation
	running map[string]lateDelivery // by nonce
	relayAt time.Time
	away    [][2]time.Time // when no worker runs
	losses  []time.Time    // of all tasks, ascending
	failing [2]time.Time   // when every delivery fails
	told    []string
}

type lateMessage struct {
	id, category string
	at, expires  time.Time
}

type lateTask struct {
	id  string
	due time.Time
}

type lateDelivery struct {
	lateTask

	generation string
	ends       time.Time
	claim      messages.Claim
}

const lateOrderLasts = 20 * time.Minute

func tellLateOrder(t *testing.T, random *rand.Rand) (late int) {
	t.Helper()
	p := addCategory(t, story.PolicyOf(t, "1/20s", "4/3m"), "news", "2/4m")
	o := &lateOrder{
		Messages: story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)}), random: random,
		sent: make(map[string]lateMessage), tasks: make(map[string]lateTask), running: make(map[string]lateDelivery),
	}
	began := o.Now
	for n := range 20 {
		o.submit(fmt.Sprintf("m%02d", n))
	}
	for range 1 + random.IntN(3) {
		from := began.Add(o.upTo(lateOrderLasts / 2))
		o.away = append(o.away, [2]time.Time{from, from.Add(o.upTo(3 * time.Minute))})
	}
	for range random.IntN(4) {
		o.losses = append(o.losses, began.Add(o.upTo(lateOrderLasts)))
	}
	slices.SortFunc(o.losses, time.Time.Compare)
	o.failing[0] = began.Add(o.upTo(lateOrderLasts))
	o.failing[1] = o.failing[0].Add(o.upTo(2 * time.Minute))
	o.relayAt = began
	for o.isOpen() {
		require.True(o, o.Now.Before(began.Add(3*time.Hour)), "not ended:\n%s", strings.Join(o.told, "\n"))
		at, happens := o.next()
		if at.After(o.Now) {
			o.Wait(at.Sub(o.Now))
		}
		happens()
	}
	return o.judge()
}

// next returns what happens next, and when.
func (o *lateOrder) next() (at time.Time, happens func()) {
	at, happens = o.relayAt, o.relay
	for _, generation := range slices.Sorted(maps.Keys(o.tasks)) {
		if due := o.workersFrom(o.tasks[generation].due); due.Before(at) {
			at, happens = due, func() { o.claim(generation) }
		}
	}
	for _, nonce := range slices.Sorted(maps.Keys(o.running)) {
		if ends := o.running[nonce].ends; ends.Before(at) {
			at, happens = ends, func() { o.settle(nonce) }
		}
	}
	if len(o.losses) > 0 && !o.losses[0].After(at) {
		at, happens = o.losses[0], func() {
			o.losses = o.losses[1:]
			o.tell("all tasks are lost")
			clear(o.tasks)
		}
	}
	return at, happens
}

func (o *lateOrder) tell(format string, args ...any) {
	o.told = append(o.told, o.Now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (o *lateOrder) upTo(most time.Duration) time.Duration {
	return time.Duration(o.random.Int64N(int64(most))).Truncate(time.Millisecond)
}

func (o *lateOrder) chance(of int) bool { return o.random.IntN(of) == 0 }

func (o *lateOrder) token() string {
	o.tokens++
	return fmt.Sprint("t", o.tokens)
}

func (o *lateOrder) submit(id string) {
	m := lateMessage{id: id, category: []string{"", "other", "news"}[o.random.IntN(3)], at: o.Now.Add(time.Minute + o.upTo(lateOrderLasts-time.Minute))}
	r := sendlimit.Request{ID: id, At: m.at, Shift: true, Record: story.Categorized(o.token(), m.category)}
	r.Category = m.category
	if o.chance(3) {
		m.expires = m.at.Add(20*time.Second + o.upTo(4*time.Minute))
		r.Record.ExpiresAt, r.ShiftUntil = m.expires, m.expires.Add(-time.Millisecond)
	}
	d := o.Ask(r)
	if !d.Allowed {
		return
	}
	m.at = d.At
	o.sent[id] = m
	o.tell("submitted %s %s for %s expires %s", id, m.category, m.at.Format("04:05.000"), m.expires.Format("04:05.000"))
	o.enqueue(id, r.Record.Generation, d.At)
}

// enqueue gives the queue a task. It may lose it.
func (o *lateOrder) enqueue(id, generation string, due time.Time) {
	require.NoError(o, o.Watch.Confirm(o.Context(), []sendlimit.Timer{{User: "alice", ID: id, Generation: generation, Due: due}}))
	if !o.chance(12) {
		o.tasks[generation] = lateTask{id, due}
	} else {
		o.tell("the task of %s %s is lost", id, generation)
	}
}

// workersFrom returns when workers handle what is due at a time.
func (o *lateOrder) workersFrom(due time.Time) time.Time {
	for again := true; again; {
		again = false
		for _, span := range o.away {
			if !due.Before(span[0]) && due.Before(span[1]) {
				due, again = span[1], true
			}
		}
	}
	return due
}

func (o *lateOrder) claim(generation string) {
	task := o.tasks[generation]
	delete(o.tasks, generation)
	nonce := o.token()
	claim := o.Claim(task.id, generation, nonce)
	o.tell("claim %s: %s %s placed %v dropped %v", task.id, claim.Verdict, claim.Until.Format("04:05.000"), claim.Placed, claim.Dropped)
	for _, p := range claim.Placed {
		o.enqueue(p.ID, p.Generation, p.Due)
	}
	switch claim.Verdict {
	case messages.Send:
		took := o.upTo([]time.Duration{100 * time.Millisecond, 5 * time.Second, 20 * time.Second}[o.random.IntN(3)])
		if !o.chance(20) {
			o.running[nonce] = lateDelivery{task, generation, o.Now.Add(took), claim}
		} else {
			o.tell("the worker of %s dies", task.id)
		}
	case messages.Busy, messages.Early:
		o.tasks[generation] = lateTask{task.id, claim.Until}
	default:
	}
}

func (o *lateOrder) settle(nonce string) {
	d := o.running[nonce]
	delete(o.running, nonce)
	s := messages.Settlement{Outcome: messages.Delivered, Began: d.claim.Now}
	failing := !o.Now.Before(o.failing[0]) && o.Now.Before(o.failing[1])
	if failing || o.chance(20) {
		s = messages.Settlement{Outcome: messages.Retried, Reason: "late", Retry: messages.Retry{Generation: o.token(), Unsent: true}}
		if o.chance(2) {
			s.Retry = messages.Retry{Generation: s.Retry.Generation, At: o.Now.Add(o.upTo(20 * time.Second))}
		}
	}
	held := o.Settle(d.id, d.generation, nonce, s)
	o.tell("settle %s: %d %t %+v", d.id, s.Outcome, held, s.Retry)
	if held && s.Outcome == messages.Retried {
		due := s.Retry.At
		if due.IsZero() {
			due = o.Now
		}
		o.enqueue(d.id, s.Retry.Generation, due)
	}
}

// relay looks after the watched messages that are due. It reads alice's entries only.
func (o *lateOrder) relay() {
	o.relayAt = o.relayAt.Add(10 * time.Second)
	story.BringNear(o, o.Client, story.KeysOf(o.Options), "alice", o.Now)
	watched := story.WatchedOf(o, o.Client, story.KeysOf(o.Options), "alice")
	for _, member := range slices.Sorted(maps.Keys(watched)) {
		since := watched[member]
		if since.After(o.Now) {
			continue
		}
		user, id, generation, ok := keyspace.ParseWatchMember(member)
		require.True(o, ok, member)
		_, queued := o.tasks[generation]
		entry, again := sendlimit.Timer{User: user, ID: id, Generation: generation, Due: since}, o.token()
		result, renewed, err := o.Watch.Renew(o.Context(), entry, again, queued, o.Now)
		require.NoError(o, err)
		if result == messages.Renewed {
			o.tell("the relay finds %s", id)
			o.enqueue(id, again, renewed.Due)
		}
	}
}

// isOpen reports whether a message has not ended: it is watched.
func (o *lateOrder) isOpen() bool {
	return len(story.WatchedOf(o, o.Client, story.KeysOf(o.Options), "alice")) > 0
}

// judge requires that messages which were late, and went out at their first try, did so in
// the order in which they were promised, each class of its own. It returns how many.
func (o *lateOrder) judge() int {
	o.Helper()
	last := make(map[string]messages.Info) // by class
	var late []messages.Info
	for id := range o.sent {
		if m := o.Look(id); m.State == messages.StateDelivered && m.Attempts == 1 && !m.Promised.IsZero() {
			late = append(late, m)
		}
	}
	slices.SortFunc(late, func(a, b messages.Info) int {
		return cmp.Or(a.Promised.Compare(b.Promised), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range late {
		class := ""
		if m.Category == "news" {
			class = m.Category
		}
		former := last[class]
		require.False(o, m.SendAt.Before(former.SendAt), "%s, promised for %s, went out at %s, before %s: promised for %s, at %s\n%s",
			m.ID, m.Promised, m.SendAt, former.ID, former.Promised, former.SendAt, strings.Join(o.told, "\n"))
		last[class] = m
	}
	return len(late)
}
