package worldtest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// countdown waits for a call.
type countdown struct {
	left  int
	after bool
}

// admits decides the fate of a call.
func (w *world) admits(c Call) fate {
	if what := w.fate(c.Process); what != answered {
		return what
	}
	if what := w.fateAtFirst(c.Names); what != answered {
		return what
	}
	if w.storeAway.Load() {
		return refused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, l := range w.loses {
		if l.left--; l.left < 0 {
			w.loses = slices.Delete(w.loses, i, i+1)
			if l.after {
				return repeated
			}
			return lost
		}
	}
	return answered
}

// fate decides whether a process is stopped at a call.
func (w *world) fate(process string) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stops[process]
	if s == nil {
		return answered
	}
	if s.left--; s.left >= 0 {
		return answered
	}
	delete(w.stops, process)
	if s.after {
		return lastly
	}
	return stopped
}

// fateAtFirst decides whether a process is stopped at the first call of a script, so that each
// script is as likely as any other, however rarely it is called.
func (w *world) fateAtFirst(names []string) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		if !strings.Contains(name, "/") || w.seen[name] {
			continue
		}
		w.seen[name] = true
		if w.plan.Has(Stops) && w.random.upTo(6) == 0 {
			w.story.noteAway(StopWorker, "", time.Now())
			w.Logf("stopped at %s", name)
			return []fate{stopped, lastly}[w.random.upTo(2)]
		}
	}
	return answered
}

// observe notes the changes of a call in the timelines of users.
func (w *world) observe(c Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	for _, user := range c.Users {
		w.compare(c, w.keys.Timeline(user), user)
	}
}

// users returns the users with timelines that a call may change.
func (w *world) users(cmds []redis.Cmder) (users []string) {
	for _, cmd := range cmds {
		for _, arg := range cmd.Args() {
			key, _ := arg.(string)
			if user, ok := w.timelines[key]; ok && !slices.Contains(users, user) {
				users = append(users, user)
			}
		}
	}
	return users
}

func (w *world) compare(c Call, key, user string) {
	stored, _ := w.servers.With(key).SortedSet(key) // an error says that there is none
	now := maps.Clone(stored)
	before, by := w.places[user], c.Names[0]
	if slices.Contains(c.Names, "message/revive") { // it may share a pipeline
		by = "message/revive"
	}
	note := func(id string, from, to time.Time) {
		if strings.HasPrefix(id, "purged-") { // of a message that may have arrived: the verdict knows whether it did
			return
		}
		shift(-w.story.Ahead[user], &from, &to)
		w.story.placed(Placement{Call: w.calls, At: c.At, Process: c.Process, By: by, User: user, ID: id, From: from, To: to})
	}
	for id, at := range before {
		if _, ok := now[id]; !ok {
			note(id, unixMilli(at), time.Time{})
		}
	}
	for id, at := range now {
		switch from, ok := before[id]; {
		case !ok:
			note(id, time.Time{}, unixMilli(at))
		case from != at:
			note(id, unixMilli(from), unixMilli(at))
		}
	}
	if now == nil {
		now = make(map[string]float64)
	}
	w.places[user] = now
}

func unixMilli(ms float64) time.Time { return time.UnixMilli(int64(ms)).UTC() }
