package worldtest

import (
	"time"
)

// fail lets something fail for a while.
func (w *world) fail(e Event) {
	from := time.Now()
	switch e.Do {
	case StoreAway:
		w.storeAway.Store(true)
		time.Sleep(e.Lasts)
		w.storeAway.Store(false)
	case StoreSlow:
		w.slow.Store(int64(e.By))
		time.Sleep(e.Lasts)
		w.slow.Store(0)
	case LoseReply:
		w.mu.Lock()
		w.loses = append(w.loses, &countdown{e.Call, e.After})
		w.mu.Unlock()
		time.Sleep(time.Minute) // somewhere in it
	case ClockAhead:
		w.ahead.Store(int64(e.By))
		time.Sleep(e.Lasts)
		w.ahead.Store(0)
	case StopWorker, StopCaller:
		w.stopSome(e)
		time.Sleep(time.Minute) // somewhere in it
	case NoWorkers:
		w.downWorkers.Store(true)
		w.mu.Lock()
		for _, live := range w.workers {
			live.stop()
		}
		w.mu.Unlock()
		time.Sleep(max(e.Lasts, 2*pushTimeout+2*time.Second))
		w.downWorkers.Store(false)
		for range w.plan.Workers {
			w.startWorker()
		}
	case LoseQueue:
		for _, key := range w.servers.Keys() {
			if len(key) > 6 && key[:6] == "asynq:" {
				w.servers.With(key).Del(key)
			}
		}
		time.Sleep(min(w.plan.Horizon, w.plan.Length) + time.Minute) // what was there is found after its time
	case Channel:
		w.provider.behave(e.Channel, e.Behaviour, e.By)
		time.Sleep(e.Lasts)
		w.provider.behave(e.Channel, Takes, 0)
		if e.Behaviour == SlowsDown || e.Behaviour == Limits {
			time.Sleep(e.By)
		}
	case RefuseUser:
		w.provider.refuse(e.User, true)
		time.Sleep(e.Lasts)
		w.provider.refuse(e.User, false)
		return // nothing is away for others
	case LoseDevice:
		w.provider.lose(e.User, e.Name)
	default:
		w.Errorf("%s is no fault", e)
	}
	w.story.noteAway(e.Do, e.Channel, from)
}

// stopSome has a process end for good at one of its next calls.
func (w *world) stopSome(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var name string
	switch {
	case e.Do == StopCaller:
		name = w.callers[w.random.upTo(len(w.callers))].name
	case len(w.workers) > 0:
		name = w.workers[w.random.upTo(len(w.workers))].name
	}
	if name != "" && w.stops[name] == nil {
		w.stops[name] = &countdown{e.Call, e.After}
	}
}
