package campaign

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// notes are stored for the run that continues a move.
type notes struct {
	Summary message.CampaignSummary `json:"summary"`           // before Plan
	Cursor  string                  `json:"cursor,omitempty"`  // of the page after Plan
	Checked int                     `json:"checked"`           // messages of the page of Plan
	Plan    []planned               `json:"plan,omitempty"`    // in the order of their moves
	Ended   bool                    `json:"ended,omitempty"`   // there is no page after Plan
	Planned bool                    `json:"planned,omitempty"` // there is a Plan, perhaps empty
}

// planned is a message to be moved.
type planned struct {
	User string `json:"u"`
	ID   string `json:"i"`
	From int64  `json:"f"` // Unix ms
}

func (p planned) from() time.Time { return time.UnixMilli(p.From).UTC() }

// move is one call of Campaigns.Move.
type move struct {
	*run

	submitter *submit.Submitter
	by        time.Duration
	job       *job.Run
	notes     notes
	goesOn    bool // with the plan of an earlier run
}

// Move moves the pending messages of a campaign by a length of time. Refused ones keep their places.
// It can be stopped or killed at any time: another call with
// the same length, by any program, continues it, and moves no message twice. The error
// is a *RunningError if another program moves the campaign.
func (c *Campaigns) Move(
	ctx context.Context, s *submit.Submitter, of Campaign, by time.Duration, w Watcher,
) (message.CampaignSummary, error) {
	m := &move{run: c.newRun(message.CampaignMoved, of, w), submitter: s, by: by}
	m.summary.By = by.String()
	if err := message.CheckCampaignMove(by); err != nil {
		return m.summary, err
	}
	if err := of.Check(); err != nil {
		return m.summary, err
	}
	if err := m.begin(ctx); err != nil {
		return m.summary, err
	}
	err := m.count(ctx)
	for err == nil && !m.summary.Complete {
		err = m.page(ctx)
	}
	if err != nil {
		m.job.Stop(ctx, m.text())
		return m.summary, err
	}
	return m.summary, m.job.Done(ctx)
}

// begin takes the turn, and continues the last run.
func (m *move) begin(ctx context.Context) error {
	key := m.keys.Turn(keyspace.CampaignWork(m.of.String()))
	run, text, err := job.Begin(ctx, turn.NewJob(m.client, key, "move "+m.by.String()), &RunningError{Campaign: m.of.Name})
	if err != nil {
		return err
	}
	m.job = run
	var earlier notes
	if text != "" && json.Unmarshal([]byte(text), &earlier) == nil {
		m.notes, m.goesOn, m.summary = earlier, true, earlier.Summary
		m.summary.Continued = true
	}
	if m.summary.RefusedBy == nil {
		m.summary.RefusedBy = map[string]int{}
	}
	return nil
}

// page moves the messages of the plan. Without one it plans a page first.
func (m *move) page(ctx context.Context) error {
	began := m.clock.Local()
	if !m.notes.Planned {
		if err := m.plan(ctx); err != nil {
			return err
		}
	}
	for _, p := range m.notes.Plan {
		if err := m.one(ctx, p); err != nil {
			return err
		}
	}
	m.summary.Messages += m.notes.Checked
	m.total = max(m.total, m.summary.Messages)
	m.watcher.progress(m.summary.Messages, m.total)
	m.summary.Complete = m.notes.Ended
	m.notes, m.goesOn = notes{Cursor: m.notes.Cursor, Summary: m.snapshot()}, false
	if m.summary.Complete {
		return nil
	}
	if err := m.job.Keep(ctx, m.text()); err != nil {
		return err
	}
	return job.Rest(ctx, m.clock.Local().Sub(began))
}

// plan reads the next page, and stores the plan for it.
func (m *move) plan(ctx context.Context) error {
	found, err := m.index.Page(ctx, find.Filter{Account: m.of.Account, Campaign: m.of.Name}, m.notes.Cursor, onPage)
	if err != nil {
		return err
	}
	m.notes = notes{Cursor: found.Next, Ended: found.Next == "", Planned: true, Summary: m.snapshot()}
	for _, s := range ofAccount(found.Messages, m.of) {
		m.notes.Checked++
		all, err := m.ofUser(ctx, s.User)
		if err != nil {
			return err
		}
		if len(all) > 0 && all[0].ID == s.ID { // else they are moved with the first
			m.notes.Plan = append(m.notes.Plan, m.inOrder(all)...)
		}
	}
	return m.job.Keep(ctx, m.text())
}

// snapshot returns a copy of the summary for the notes.
func (m *move) snapshot() message.CampaignSummary {
	s := m.summary
	s.RefusedBy = maps.Clone(m.summary.RefusedBy)
	return s
}

// ofUser returns all messages of the campaign to a user, in the order of the index.
func (m *move) ofUser(ctx context.Context, user string) (all []messages.Info, err error) {
	filter, cursor := find.Filter{Account: m.of.Account, Campaign: m.of.Name, User: user}, ""
	for {
		page, err := m.index.Page(ctx, filter, cursor, find.MaxPage)
		if err != nil {
			return nil, err
		}
		all = append(all, ofAccount(page.Messages, m.of)...)
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

// inOrder returns the pending messages in an order in which none conflicts with the next.
func (m *move) inOrder(all []messages.Info) []planned {
	all = slices.DeleteFunc(all, func(s messages.Info) bool { return s.State != messages.StatePending })
	slices.SortFunc(all, func(a, b messages.Info) int {
		if m.by > 0 {
			a, b = b, a
		}
		return a.SendAt.Compare(b.SendAt)
	})
	plan := make([]planned, len(all))
	for i, s := range all {
		plan[i] = planned{s.User, s.ID, s.SendAt.UnixMilli()}
	}
	return plan
}

// one moves a message, unless an earlier run did.
func (m *move) one(ctx context.Context, p planned) error {
	if err := m.job.KeepOften(ctx, m.text); err != nil {
		return err
	}
	to := p.from().Add(m.by)
	if m.goesOn {
		found, err := m.records.Look(ctx, p.User, p.ID)
		if err != nil {
			return err
		}
		if found[0].MovedFrom.Equal(p.from()) && found[0].SendAt.Equal(to) {
			m.summary.Done++
			return nil
		}
	}
	o, err := m.submitter.MoveFrom(ctx, p.User, p.ID, p.from(), to, "")
	if err != nil {
		return err
	}
	return m.tell(o)
}

func (m *move) text() string {
	text, _ := json.Marshal(m.notes) // can't fail for these types
	return string(text)
}
