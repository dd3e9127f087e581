package integration_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// fail carries out a fault, to its end.
func (w *realWorld) fail(e worldtest.Event) {
	span := worldtest.Away{What: e.Do, Channel: e.Channel, From: time.Now()}
	switch e.Do {
	case worldtest.StoreAway, worldtest.StoreSlow:
		w.store.Lock()
		span.From = time.Now()
		w.storeAway(e.Do == worldtest.StoreSlow, e.Lasts)
		w.store.Unlock()
	case worldtest.StopWorker, worldtest.StopCaller:
		if span.From = w.dieSomewhere(e); span.From.IsZero() {
			return
		}
	case worldtest.NoWorkers:
		for _, k := range w.workers { // they end well: StopWorker kills
			k.goAway(syscall.SIGTERM)
		}
		time.Sleep(e.Lasts)
		for _, k := range w.workers {
			k.comeBack()
			w.await(k.works)
		}
	case worldtest.LoseQueue:
		w.await(func() bool { return w.loseQueue() == nil })
	case worldtest.Channel:
		w.provider.behave(e.Behaviour, e.By)
		time.Sleep(e.Lasts)
		w.provider.behave(worldtest.Takes, 0)
	default:
		w.Errorf("nobody can play this: %s", e)
	}
	span.Until = time.Now()
	w.story.NoteAway(span)
}

// storeAway lets all servers stand still, or kills and restarts them.
func (w *realWorld) storeAway(hangs bool, lasts time.Duration) {
	all := func(signal syscall.Signal) {
		for _, server := range w.servers {
			if err := syscall.Kill(server.PID(), signal); err != nil {
				w.Error(err)
			}
		}
	}
	if hangs {
		all(syscall.SIGSTOP)
		time.Sleep(lasts)
		all(syscall.SIGCONT)
	} else {
		for _, server := range w.servers {
			server.Kill()
		}
		time.Sleep(lasts)
		for _, server := range w.servers {
			if err := server.Restart(w.Context()); err != nil {
				w.Error(err)
			}
		}
	}
	for _, server := range w.servers[1:] { // masters of a cluster wait for each other
		w.await(func() bool { return complete(w.Context(), w.servers[0]) && complete(w.Context(), server) })
	}
}

// complete reports whether a node of a cluster works as a part of it.
func complete(ctx context.Context, node *redistest.Server) bool {
	info, err := node.Client().ClusterInfo(ctx).Result()
	return err == nil && strings.Contains(info, "cluster_state:ok\r\n")
}

// loseQueue removes all of the queue's keys, as a hand or an eviction could.
func (w *realWorld) loseQueue() error {
	const all = `for _, key in ipairs(redis.call('KEYS', 'asynq:*')) do redis.call('UNLINK', key) end return 1`
	for _, server := range w.servers {
		if err := server.Client().Eval(w.Context(), all, nil).Err(); err != nil {
			return err
		}
	}
	return nil
}

// dieSomewhere has a process die at a call of those that it has made, each as likely as another,
// or at the next one of any kind if that does not come soon. It returns when the process died, once another one works; zero if none died.
func (w *realWorld) dieSomewhere(e worldtest.Event) time.Time {
	of := w.workers
	if e.Do == worldtest.StopCaller {
		of = w.callers
	}
	k := of[w.upTo(len(of))]
	life := k.last()
	life.die(worldDeath{Pick: 1 + uint64(w.upTo(1<<30)), Nth: e.Call % 2, After: e.After})
	select {
	case <-life.ended:
	case <-time.After(3 * time.Second):
		life.die(worldDeath{Nth: e.Call % 8, After: e.After})
		select {
		case <-life.ended:
		case <-time.After(3 * time.Second): // a caller that nobody asks anything
			life.die(worldDeath{Nth: 1 << 30})
			return time.Time{}
		}
	}
	w.await(k.works)
	return life.at
}

// await waits for a condition in a goroutine of the story.
func (w *realWorld) await(holds func() bool) {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.Error("it does not come back")
			return
		}
	}
}

// noteProcesses notes which processes were stopped for good, once all have ended: what they had
// done may be unknown. It requires that the others ended well.
func (w *realWorld) noteProcesses() {
	away := w.story.Spans()
	for _, k := range slices.Concat(w.workers, w.callers) {
		for _, l := range k.lives {
			storeAway := slices.ContainsFunc(away, func(a worldtest.Away) bool {
				store := a.What == worldtest.StoreAway || a.What == worldtest.StoreSlow
				return store && l.at.After(a.From) && l.at.Before(a.Until.Add(worldLease))
			})
			killed := l.command.ProcessState.ExitCode() == -1
			if !killed && !l.asked && !storeAway {
				w.Errorf("%s ended:\n%s", l.name, l.said.String())
			}
			if killed || storeAway || !l.command.ProcessState.Success() {
				w.story.NoteHalted(l.name)
			}
			if point := l.died(); point != "" {
				w.Logf("%s died %s", l.name, point)
			}
		}
	}
}
