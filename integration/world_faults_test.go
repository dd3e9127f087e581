package integration_test

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// fail carries out a fault, to its end.
func (w *realWorld) fail(e worldtest.Event) {
	span := worldtest.Away{What: e.Do, Channel: e.Channel, From: time.Now()}
	switch e.Do {
	case worldtest.StoreAway, worldtest.StoreSlow:
		w.store.Lock()
		span.From = time.Now()
		hangs := e.Do == worldtest.StoreSlow
		switch {
		case w.sentinels == nil:
			w.storeAway(hangs, e.Lasts)
		case !w.failedOver: // Sentinels do not replace another master so soon
			w.failover(hangs)
			w.failedOver = true
		}
		w.store.Unlock()
	case worldtest.PowerCut:
		w.store.Lock()
		span.From = w.powerCut()
		if w.plan.Has(worldtest.TornTwice) {
			time.Sleep(time.Duration(w.upTo(800)) * time.Millisecond) // what is torn has writes behind it
			w.restart(w.servers[0])
		}
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
		w.provider.behave(e.Channel, e.Behaviour, e.By)
		time.Sleep(e.Lasts)
		w.provider.behave(e.Channel, worldtest.Takes, 0)
	case worldtest.LoseDevice:
		w.provider.lose(e.User, e.Name)
	case worldtest.RefuseUser:
		w.provider.refuse(e.User, true)
		time.Sleep(e.Lasts)
		w.provider.refuse(e.User, false)
		return // nothing is away for others
	default:
		w.Errorf("nobody can play this: %s", e)
	}
	span.Until = time.Now()
	w.story.NoteAway(span)
}

// dieSomewhere has a process die at a call of those that it has made, rather at one at which none
// has died, or at the next one of any kind if that does not come soon. It returns when the process
// died, once another one works; zero if none died.
func (w *realWorld) dieSomewhere(e worldtest.Event) time.Time {
	of := w.workers
	if e.Do == worldtest.StopCaller {
		of = w.callers
	}
	k := of[w.upTo(len(of))]
	life := k.last()
	life.die(worldDeath{Pick: 1 + uint64(w.upTo(1<<30)), Later: w.points(of), Nth: e.Call % 2, After: e.After})
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

// trap draws a script at whose call a process dies if it ever makes it. Each comes up before any
// comes up again.
func (w *realWorld) trap(caller bool) *worldDeath {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.traps[caller]) == 0 {
		w.traps[caller] = []string{
			"channel/resume", "channel/stop", "channel/take_probe", "charge/hold_look", "charge/settle_hold", "count/add_once", "device/claim",
			"device/note_count", "device/remove", "event/append", "message/bring_near", "message/claim", "message/hand_over", "message/renew",
			"message/resume", "message/settle", "notice/claim", "notice/settle", "place/free_lost", "rate/pause", "turn/take",
		}
		if caller {
			w.traps[caller] = []string{
				"charge/hold", "charge/settle_hold", "device/add", "device/claim", "device/hold", "device/note_count", "device/remove",
				"device/settle_claim", "message/edit", "message/purge", "message/revive", "place/check", "place/copy_for_dry_run", "place/move",
				"place/next_free", "place/release", "place/reserve", "place/reserve_many", "refit/refit", "setting/campaign_pause",
				"setting/policy_apply", "setting/settings_change", "turn/job",
			}
		}
		w.random.Shuffle(len(w.traps[caller]), func(i, j int) {
			w.traps[caller][i], w.traps[caller][j] = w.traps[caller][j], w.traps[caller][i]
		})
	}
	next := w.traps[caller][0]
	w.traps[caller] = w.traps[caller][1:]
	return &worldDeath{Call: next, After: w.random.IntN(2) == 0}
}

// points lists the calls at which processes died.
func (w *realWorld) points(of []*worldKeeper) (calls []string) {
	for _, k := range of {
		for _, l := range k.past() {
			if _, call, ok := strings.Cut(l.died(), " "); ok {
				calls = append(calls, call)
			}
		}
	}
	return calls
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
				store := a.What == worldtest.StoreAway || a.What == worldtest.StoreSlow || a.What == worldtest.PowerCut
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
				w.story.NoteAway(worldtest.Away{What: worldtest.StopWorker, From: l.at, Until: l.at.Add(2 * time.Second)}) // it may have been a trap
			}
		}
	}
}
