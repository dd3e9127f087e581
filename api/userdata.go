package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

const (
	userPath = "/v1/users/{user}"
	// scanProgressEvery is the time between two progress lines. A scan of a small store has no
	// progress lines.
	scanProgressEvery = 5 * time.Second
	// usualWait and longestWaitForSends are how long an erasure waits for deliveries that are
	// running.
	usualWait           = time.Minute
	longestWaitForSends = 10 * time.Minute
)

// aboutScans describes the lines of exports and erasures.
const aboutScans = "It looks at every key of the user's server, so only one export or erasure runs at a time and others are answered with 429. " +
	"A `progress` line comes from time to time. If it stops early, the last line is a problem's outcome."

func (s *server) userDataRoutes() []route {
	return []route{
		stream(s, route{
			Operation: named("exportUser", http.MethodGet, userPath+"/export", "users",
				"Export all data of a user",
				"Each entry is a line: of the timeline, the messages (including ended ones), the settings, "+
					"alerts, dead letters, the watch list, the queue, and traces of dry runs. The summary `exported` is the last line. The request "+
					"ends with the connection. "+aboutScans+"\n\n"+operatorsContent+" Each export is logged too."),
			scope: accounts.ScopeAdmin, attended: true, refuses: []int{http.StatusNotFound},
		}, s.lines(schemaOf[message.UserProgress], schemaOf[message.UserEntry], schemaOf[message.UserExport]), s.exportUser),
		stream(s, route{
			Operation: named("eraseUser", http.MethodDelete, userPath, "users",
				"Erase all data of a user, and cancel the user's messages",
				"This can't be undone. Erasing again is safe. Stop submitting for the user first: a message accepted meanwhile may stay. "+
					"It continues if the connection ends. Backups keep their data. The summary `erased` is the last line. "+aboutScans),
			scope: accounts.ScopeAdmin, erases: true,
		}, s.lines(schemaOf[message.UserProgress], schemaOf[message.UserErasure]), s.eraseUser),
	}
}

func (s *server) exportUser(w http.ResponseWriter, r *http.Request, in ofUser) {
	user, at := in.User, s.Now()
	s.scan(w, r, true, func(ctx context.Context, progress func(done, total int64)) (scanned, error) {
		document, err := s.UserData.Export(ctx, user, progress)
		if err != nil {
			return nil, err
		}
		if document.Empty() {
			return nil, &refusal{message.Outcome{
				Outcome: message.Refused, Code: fault.CodeNotFound, User: user, Detail: fmt.Sprintf("no data of user %q", fault.Clip(user)),
			}}
		}
		who := callerOf(ctx)
		shown := document.Conceal(who.sees)
		if !who.keyless {
			s.Logger.InfoContext(ctx, "data of a user exported", "account", who.account(), "key", who.identity.Key.ID,
				"user", user, "messages", len(document.Messages), "contents", shown)
		}
		return func(yield func(any, error) bool) {
			summary := message.UserExport{Outcome: message.UserExported, User: user, ExportedAt: message.Time{Time: at}}
			for entry, err := range document.Entries() {
				if !yield(entry, err) {
					return
				}
				summary.Entries++
			}
			yield(summary, nil)
		}, nil
	})
}

type erasure struct {
	ofUser

	Wait sendsWait `query:"wait" example:"90s" doc:"How long to wait for messages being delivered, at most 10m. By default 1m."`
}

type sendsWait struct {
	length time.Duration
	given  bool
}

// UnmarshalText reads the parameter.
func (w *sendsWait) UnmarshalText(text []byte) (err error) {
	w.length, err = calendar.ParseDuration(string(text))
	if w.given = true; err != nil || w.length < 0 || w.length > longestWaitForSends {
		return &fault.InvalidError{Field: "wait", Value: string(text), Want: "a length of time such as 90s, 0s not to wait, at most 10m"}
	}
	return nil
}

func (s *server) eraseUser(w http.ResponseWriter, r *http.Request, in erasure) {
	wait := in.Wait.length
	if !in.Wait.given {
		wait = usualWait
	}
	s.scan(w, r, false, func(ctx context.Context, progress func(done, total int64)) (scanned, error) {
		e, err := s.UserData.Erase(ctx, in.User, wait, progress)
		if err != nil {
			return nil, err
		}
		if who := callerOf(ctx); !who.keyless {
			s.Logger.InfoContext(ctx, "user erased", "account", who.account(), "key", who.identity.Key.ID,
				"messages", e.Messages, "running", e.Running)
		}
		return func(yield func(any, error) bool) { yield(erasureOf(e), nil) }, nil
	})
}

func erasureOf(e userdata.Erasure) message.UserErasure {
	return message.UserErasure{
		Outcome: message.UserErased, User: e.User, Messages: e.Messages, Cancelled: e.Cancelled,
		Tasks: e.Tasks, Keys: e.Keys, Entries: e.Entries, Running: e.Running,
	}
}

// scan streams the lines of run, and its progress until then. An attended scan ends when its client
// leaves.
func (s *server) scan(
	w http.ResponseWriter, r *http.Request, attended bool,
	run func(ctx context.Context, progress func(done, total int64)) (scanned, error),
) {
	s.answerLines(w, r, s.scans, func(ctx context.Context, out *lineAnswer) (any, error) {
		told := new(scanProgress)
		ended := told.every(scanProgressEvery, func(p message.UserProgress) {
			if err := errors.Join(out.line(p), out.Flush()); err != nil && attended {
				out.stop(err)
			}
		})
		lines, err := run(ctx, told.note)
		ended()
		if err == nil {
			err = out.all(lines)
		}
		return nil, err
	})
}

// scanned are the lines of a scan, written as they come. An error is the last.
type scanned = iter.Seq2[any, error]

// all adds lines until one is an error or can't be written.
func (a *answers) all(lines scanned) error {
	for line, err := range lines {
		if err == nil {
			err = a.line(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type scanProgress struct{ done, total atomic.Int64 }

func (p *scanProgress) note(done, total int64) {
	p.done.Store(done)
	p.total.Store(total)
}

// every calls tell repeatedly until the returned function is called, which waits for the last call.
func (p *scanProgress) every(pause time.Duration, tell func(message.UserProgress)) (end func()) {
	var telling sync.WaitGroup
	ended := make(chan struct{})
	telling.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				tell(message.UserProgress{Outcome: message.UserProgressing, Done: p.done.Load(), Total: p.total.Load()})
			}
		}
	})
	return func() {
		close(ended)
		telling.Wait()
	}
}
