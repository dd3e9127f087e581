package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

const (
	// readyWithin bounds the checks of the store for /readyz; readyFresh is how long their answer
	// is reused.
	readyWithin = 2 * time.Second
	readyFresh  = time.Second
)

// readiness is the answer of /readyz.
type readiness struct {
	Status string  `json:"status"` // ready, unready, or stopping
	Checks []check `json:"checks"`
}

// check is one condition of readiness.
type check struct {
	Check  string `json:"check"`
	Status string `json:"status"`           // ok, failed, warning, or unknown if it could not be checked
	Detail string `json:"detail,omitempty"` // what is wrong, and what to do
}

// The words of the answer.
const (
	ready    = "ready"
	unready  = "unready"
	stopping = "stopping" // without a check of the store

	checkOK      = "ok"
	checkFailed  = "failed"
	checkUnknown = "unknown"
	checkWarning = "warning"

	checkReachable = "reachable"
	checkWritable  = "writable"
	checkEviction  = "eviction"
	checkLayout    = "layout"
	checkStepped   = "clock"
	checkPolicies  = "policies"
	// checkAddress is present only if it failed: the worker is held back.
	checkAddress = "address"
	// The others are present only as warnings: a worker can deliver or accept without them.
	checkDurability = "durability"
	checkReplicas   = "replicas"
	checkHandOver   = "hand_over"
	checkQueue      = "queue"
	checkZones      = "time_zones"
	checkSending    = "sending"
	checkChannel    = "channel_" // and the name of a channel with a problem
)

// readyHandler answers whether the store is fit for deliveries, with each check. Details of
// failures reveal facts about the store: they are in the answer if open is set, otherwise only in
// the log.
func readyHandler(look func(context.Context) readiness, open bool, logger *slog.Logger) http.HandlerFunc {
	answer := newShared(readyWithin, readyFresh, func(ctx context.Context) readiness {
		found := look(ctx)
		if !open {
			found.withhold(ctx, logger)
		}
		return found
	})
	return func(w http.ResponseWriter, r *http.Request) {
		status, found := http.StatusOK, answer.get(r.Context())
		if found.Status != ready {
			status = http.StatusServiceUnavailable
		}
		api.WriteJSON(w, status, found)
	}
}

// readyPath is the path of readyHandler.
const readyPath = "/readyz"

// unreadyAfter answers that the worker is stopping once that channel is closed.
func unreadyAfter(stopped <-chan struct{}, answers http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-stopped:
			api.WriteJSON(w, http.StatusServiceUnavailable, readiness{Status: stopping, Checks: []check{}})
		default:
			answers.ServeHTTP(w, r)
		}
	})
}

// readinessOf returns a function that checks whether a backend is fit for deliveries. A worker that
// is held back is not ready, since it does not deliver as its settings say. So a rolling start
// stops at it while other workers deliver.
func readinessOf(b *backend.Backend, prefix string, held *heldBack) func(context.Context) readiness {
	return func(ctx context.Context) readiness {
		r := lookReady(ctx, b.Client, prefix, b.Policies.ClockError)
		r.warn(checkStepped, cmp.Or(b.Policies.ClockBehind(), store.ClockAhead(b.Policies.Clock.Skew())))
		if r.Status == ready {
			r.check(checkPolicies, b.Policies.Refresh(ctx))
		} else {
			r.giveUp(checkPolicies)
		}
		newest, err := redisstore.ReadZones(ctx, b.Client, keyspace.KeysUnder(prefix))
		if older := store.OlderZones(newest); err == nil && older != "" {
			r.Checks = append(r.Checks, check{Check: checkZones, Status: checkWarning, Detail: older})
		}
		if held != nil {
			r.check(checkAddress, held.unready())
		}
		if behind, err := overview.OldestOverdue(ctx, b.Client, b.Watch); err == nil && behind > b.Watch.Horizon().Seconds()/2 {
			r.Checks = append(r.Checks, check{Check: checkHandOver, Status: checkWarning, Detail: fmt.Sprintf(
				"messages reach the queue %s late, and may be sent late: start more workers,"+
					" or find out why the store is slow", time.Duration(behind*float64(time.Second)).Round(time.Second))})
		}
		if paused, err := queue.Paused(ctx, b.Client, prefix); err == nil && len(paused) > 0 {
			r.Checks = append(r.Checks, check{Check: checkQueue, Status: checkWarning, Detail: fmt.Sprintf(
				"paused from outside, so its messages wait and will be late: resume %s in asynqmon, or with asynq queue resume NAME",
				strings.Join(paused, ", "))})
		}
		r.Checks = append(r.Checks, unwellChannels(ctx, b.Client, prefix)...)
		return r
	}
}

// unwellChannels returns a warning if all sending is stopped, and one for each channel that is
// stopped, or whose provider reports many devices as gone. The others deliver.
func unwellChannels(ctx context.Context, client redis.UniversalClient, prefix string) []check {
	kept := channels.NewStore(client, keyspace.KeysUnder(prefix))
	var unwell []check
	if stop, err := kept.Sending(ctx); err == nil && stop != nil {
		unwell = append(unwell, check{Check: checkSending, Status: checkWarning, Detail: fmt.Sprintf(
			"stopped since %s by %s: %s; messages wait until sendlimit-worker sending start", stop.Since.Format(time.RFC3339), stop.By, stop.Reason)})
	}
	all, err := kept.Load(ctx)
	if err != nil {
		return unwell // another check says so
	}
	for _, s := range all {
		if s.Wave != nil && time.Since(s.Wave.At) < channels.WaveLasts {
			unwell = append(unwell, check{Check: checkChannel + s.Name, Status: checkWarning, Detail: fmt.Sprintf(
				"its provider reported %d of the last %d devices as gone, which are kept as suspects; see sendlimit-worker channel list", s.Wave.Gone, s.Wave.Of)})
		}
		if !s.Stopped {
			continue
		}
		next := "workers probe it once a minute and resume it: see sendlimit-worker channel check"
		if s.Reason == channels.Brake {
			next = "its provider reports all devices as gone: check project, key and environment, then sendlimit-worker channel resume " + s.Name
		}
		unwell = append(unwell, check{Check: checkChannel + s.Name, Status: checkWarning, Detail: fmt.Sprintf(
			"stopped since %s, %s: its messages wait; %s", s.Since.Format(time.RFC3339), s.Reason, next)})
	}
	return unwell
}

// lookReady checks the store. clock returns the fault of its clock.
func lookReady(ctx context.Context, client redis.UniversalClient, prefix string, clock func() error) readiness {
	r := readiness{Status: ready}
	if !r.check(checkReachable, redisstore.Explain(client.Ping(ctx).Err(), "asking the store")) {
		return r.giveUp(checkWritable, checkEviction, checkLayout, checkStepped)
	}
	report, err := store.Inspect(ctx, client)
	if !r.check(checkWritable, err) {
		return r.giveUp(checkEviction, checkLayout, checkStepped)
	}
	if r.check(checkEviction, report.RefuseEviction()) && len(report.Warnings) > 0 {
		seen := &r.Checks[len(r.Checks)-1]
		seen.Status, seen.Detail = checkUnknown, strings.Join(report.Warnings, "; ")
	}
	if err := knownLayout(ctx, client, prefix); redisstore.NotSent(err) { // it was known at the start
		r.Checks = append(r.Checks, check{Check: checkLayout, Status: checkUnknown, Detail: err.Error()})
	} else {
		r.check(checkLayout, err)
	}
	r.check(checkStepped, clock())
	if sentences := report.LosesAll(); len(sentences) > 0 {
		r.Checks = append(r.Checks, check{Check: checkDurability, Status: checkWarning, Detail: strings.Join(sentences, "; ")})
	}
	if sentences := report.Lagging(); len(sentences) > 0 {
		r.Checks = append(r.Checks, check{Check: checkReplicas, Status: checkWarning, Detail: strings.Join(sentences, "; ")})
	}
	return r
}

// knownLayout returns an error unless this program knows the store's layout.
func knownLayout(ctx context.Context, client redis.Cmdable, prefix string) error {
	version, err := redisstore.PresentLayout.Read(ctx, client, keyspace.KeysUnder(prefix))
	if err == nil && version == 0 {
		return &fault.UnavailableError{
			Detail: "the store has been emptied since this worker started: restart a worker, which adds its layout and rules",
		}
	}
	if err == nil && version < redisstore.PresentLayout {
		return &fault.UnavailableError{Detail: fmt.Sprintf(
			"the store has layout %d of a former version, as after a restore from a backup: restart a worker, which raises it", version)}
	}
	return err
}

// check adds the result of a check, and reports whether it is ok.
func (r *readiness) check(name string, err error) bool {
	if err == nil {
		r.Checks = append(r.Checks, check{Check: name, Status: checkOK})
		return true
	}
	detail := err.Error()
	if away, ok := errors.AsType[*fault.UnavailableError](err); ok {
		// The check changed nothing, so nothing may be done.
		detail, _, _ = strings.Cut(away.Detail, redisstore.MayBeDone)
	}
	r.Status = unready
	r.Checks = append(r.Checks, check{Check: name, Status: checkFailed, Detail: detail})
	return false
}

// warn makes a check that is ok a warning; "" changes nothing.
func (r *readiness) warn(name, detail string) {
	for i, c := range r.Checks {
		if c.Check == name && c.Status == checkOK && detail != "" {
			r.Checks[i].Status, r.Checks[i].Detail = checkWarning, detail
		}
	}
}

// withhold removes the details, and logs those of failures.
func (r *readiness) withhold(ctx context.Context, logger *slog.Logger) {
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Status == checkFailed && c.Check != checkReachable { // an outage is logged once
			logger.WarnContext(ctx, "not ready", "check", c.Check, "error", &fault.UnavailableError{Detail: c.Detail})
		}
		c.Detail = ""
	}
}

// giveUp adds the checks that were not made.
func (r *readiness) giveUp(names ...string) readiness {
	for _, name := range names {
		r.Checks = append(r.Checks, check{Check: name, Status: checkUnknown})
	}
	return *r
}
