package userdata

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/userdata"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Users exports and erases all data of a user in the store and the queue. It is safe for
// concurrent use.
type Users struct {
	store   *userdata.Users
	notices *notices.Outbox
	queue   *queue.Queue
	backend *backend.Backend
}

// New returns the users of a backend. The error is a *fault.InvalidError.
func New(b *backend.Backend) (*Users, error) {
	store, err := userdata.New(b.Client, b.Timeline)
	if err != nil {
		return nil, err
	}
	outbox, err := notices.New(b.Client, notices.Options{Prefix: b.Timeline.Prefix})
	if err != nil {
		return nil, err
	}
	return &Users{store: store, notices: outbox, queue: b.Queue, backend: b}, nil
}

// Document is all data of a user. Times have the format of outcomes.
type Document struct {
	User       string       `json:"user"`
	ExportedAt message.Time `json:"exported_at,omitzero"` // set by the caller
	// DryRun is the token of the dry run whose copies these are.
	DryRun    string             `json:"dry_run,omitempty"`
	Timeline  []message.Conflict `json:"timeline"`
	Uncounted []message.Conflict `json:"uncounted,omitempty"` // places that no rule counts
	Messages  []Message          `json:"messages"`
	Settings  map[string]string  `json:"settings,omitempty"`
	Devices   []message.Device   `json:"devices,omitempty"`
	Alerted   []AlertedDay       `json:"alerted,omitempty"`
	LateMark  message.Time       `json:"late_mark,omitzero"`
	Ended     []message.Conflict `json:"ended,omitempty"` // messages that gave their place back
	Dead      []DeadEntry        `json:"dead_letters,omitempty"`
	WatchList []WatchEntry       `json:"watch_list,omitempty"`
	Tasks     []TaskEntry        `json:"tasks,omitempty"`
	// Quota alerts: those to the user's contact, and those in digests for others.
	Alerts   []Alert         `json:"alerts,omitempty"`
	Gathered []GatheredAlert `json:"gathered,omitempty"`

	// Events are what became of the messages while somebody listened, as long as they are kept.
	Events []Event `json:"events,omitempty"`
	// Changes are what operators changed about the user.
	Changes []Change `json:"changes,omitempty"`

	DryRuns []Document `json:"dry_runs,omitempty"` // left by dry runs that died
}

// Message is the status of a message, with its content as long as that is kept.
type Message struct {
	message.Status
}

// DeadEntry is an entry of the dead letters.
type DeadEntry struct {
	ID      string       `json:"id"`
	EndedAt message.Time `json:"ended_at"`
}

// WatchEntry is an entry of the watch list.
type WatchEntry struct {
	ID         string       `json:"id"`
	Generation string       `json:"generation"`
	LookAt     message.Time `json:"look_at"`
}

// TaskEntry is a task in the queue; its own id is the generation. The task of a quota alert
// has no ID.
type TaskEntry struct {
	ID         string       `json:"id,omitempty"`
	Generation string       `json:"generation"`
	State      string       `json:"state"` // as the queue calls it
	Due        message.Time `json:"due,omitzero"`
}

// Empty reports whether there is no data of the user.
func (d Document) Empty() bool {
	return len(d.Timeline)+len(d.Uncounted)+len(d.Messages)+len(d.Settings)+len(d.Devices)+len(d.Alerted)+
		len(d.Ended)+len(d.Dead)+len(d.WatchList)+len(d.Tasks)+len(d.DryRuns)+
		len(d.Events)+len(d.Changes)+len(d.Alerts)+len(d.Gathered) == 0 && d.LateMark.IsZero()
}

// Export reads all data of a user.
func (u *Users) Export(ctx context.Context, user string, progress userdata.Progress) (Document, error) {
	data, err := u.store.Export(ctx, user, progress)
	if err != nil {
		return Document{}, err
	}
	d, err := documentOf(data)
	if err != nil {
		return Document{}, err
	}
	found, err := u.queue.TasksOf(user).List(ctx)
	for _, task := range found {
		d.Tasks = append(d.Tasks, TaskEntry{
			ID: task.Message, Generation: task.ID, State: task.State, Due: message.Time{Time: task.Due},
		})
	}
	return d, err
}

func documentOf(data userdata.Data) (Document, error) {
	d := Document{
		User: data.User, DryRun: data.DryRun, Timeline: placesOf(data.Places), Messages: []Message{},
		Settings: data.Settings, LateMark: message.Time{Time: data.LateMark},
		Alerted: alertedDaysOf(data.Alerted), Alerts: alertsOf(data), Gathered: gatheredOf(data.Gathered),
		Events: eventsOf(data.Events), Changes: changesOf(data.Changes), Devices: devicesOf(data.Devices),
	}
	if len(data.Uncounted) > 0 {
		d.Uncounted = placesOf(data.Uncounted)
	}
	for _, m := range data.Messages {
		message, err := userMessageOf(m)
		if err != nil {
			return d, err
		}
		d.Messages = append(d.Messages, message)
	}
	if len(data.Ended) > 0 {
		d.Ended = placesOf(data.Ended)
	}
	for _, r := range data.DeadLetters {
		d.Dead = append(d.Dead, DeadEntry{ID: r.ID, EndedAt: message.Time{Time: r.At}})
	}
	for _, w := range data.Watched {
		d.WatchList = append(d.WatchList, WatchEntry{ID: w.ID, Generation: w.Generation, LookAt: message.Time{Time: w.At}})
	}
	for _, run := range data.DryRuns {
		copies, err := documentOf(run)
		if err != nil {
			return d, err
		}
		d.DryRuns = append(d.DryRuns, copies)
	}
	return d, nil
}

func placesOf(reservations []keyspace.Reservation) []message.Conflict {
	places := make([]message.Conflict, len(reservations))
	for i, r := range reservations {
		places[i] = message.Conflict{ID: r.ID, SendAt: message.Time{Time: r.At}}
	}
	return places
}

func userMessageOf(m userdata.Message) (Message, error) {
	data := Message{Status: submit.StatusOf(m.Standing)}
	if len(m.Content) == 0 {
		return data, nil
	}
	var err error
	data.Content, err = message.DecodeContent(m.Content)
	return data, err
}

// Erasure counts what was removed of a user.
type Erasure struct {
	User      string `json:"user"`
	Messages  int    `json:"messages"`  // with a record
	Cancelled int    `json:"cancelled"` // of these, not sent yet
	Tasks     int    `json:"tasks"`     // in the queue
	Keys      int    `json:"keys"`      // in the store, including those of messages and dry runs
	Entries   int    `json:"entries"`   // in lists of the store that are shared with other users
	// Running is how many tasks are still running, which can't be removed: the queue
	// has the user's name until they end.
	Running int `json:"running"`
}

// erasePause is the time between two looks at running tasks.
const erasePause = 250 * time.Millisecond

// Erase removes all data of a user. It cancels pending messages first, so that nothing
// more is sent. It waits at most wait for deliveries and running tasks, which can't be removed.
// Erasure.Running counts those that still run then; a second Erase finds them. Erasing
// twice is harmless.
func (u *Users) Erase(
	ctx context.Context, user string, wait time.Duration, progress userdata.Progress,
) (Erasure, error) {
	e := Erasure{User: user}
	defer u.backend.FlushActivity()
	ids, err := u.store.Messages(ctx, user, half(progress, 0))
	if err != nil {
		return e, err
	}
	waiting, done := context.WithTimeout(ctx, wait)
	defer done()
	for sending := ids; ; {
		// Cancel these each time: a delivery that fails leaves its message pending again.
		sending, err = u.cancel(ctx, sending, &e)
		if err != nil {
			return e, err
		}
		if err := u.drop(ctx, &e); err != nil {
			return e, err
		}
		// A task for several messages ends before their deliveries do.
		if e.Running == 0 && len(sending) == 0 || !storeclock.Sleep(waiting, nil, erasePause) {
			break
		}
	}
	erased, err := u.store.Erase(ctx, user, half(progress, 1))
	e.Messages, e.Keys, e.Entries = erased.Messages, erased.Keys, erased.Entries
	if err != nil {
		return e, err
	}
	digests, err := u.notices.EraseFromDigests(ctx, user)
	e.Entries += digests
	if err != nil {
		return e, err
	}
	// A program that read a message before the erasure may have enqueued it since.
	for before := -1; before < e.Tasks; {
		before = e.Tasks
		storeclock.Sleep(ctx, nil, queue.EnqueueWithin)
		if err := u.drop(ctx, &e); err != nil {
			return e, err
		}
	}
	return e, nil
}

// cancel cancels the user's messages, and returns those that are being sent.
func (u *Users) cancel(ctx context.Context, ids []string, e *Erasure) (sending []string, err error) {
	for _, id := range ids {
		c, err := u.store.Cancel(ctx, e.User, id)
		if err != nil {
			return nil, err
		}
		if c.Cancelled {
			e.Cancelled++
			u.backend.Activity.Cancelled(c.Account, c.At)
		}
		if c.Sending {
			sending = append(sending, id)
		}
	}
	return sending, nil
}

// drop deletes the user's tasks, except running ones.
func (u *Users) drop(ctx context.Context, e *Erasure) error {
	deleted, running, err := u.queue.TasksOf(e.User).Delete(ctx)
	e.Tasks += deleted
	e.Running = running
	return err
}

// half returns the progress of the first or second of two equal parts.
func half(progress userdata.Progress, part int64) userdata.Progress {
	if progress == nil {
		return nil
	}
	return func(done, total int64) { progress(part*total+done, 2*total) }
}
