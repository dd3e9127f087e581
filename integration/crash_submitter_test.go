package integration_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// crashSubmitter submits a plan. It continues where another died before: what got no
// answer it requests again, or gives up.
type crashSubmitter struct {
	*submit.Submitter

	journal *crashJournal
	begun   map[[2]int]crashEvent // by lane and step
	ended   map[[2]int]bool
}

func newCrashSubmitter(s *submit.Submitter, journal *crashJournal, before []crashEvent) *crashSubmitter {
	c := &crashSubmitter{Submitter: s, journal: journal, begun: make(map[[2]int]crashEvent), ended: make(map[[2]int]bool)}
	for _, e := range before {
		at := [2]int{e.Lane, e.Step}
		switch {
		case e.Process != journal.process:
		case e.Event == eventBegins:
			c.begun[at] = e
		case e.Event == eventEnds:
			c.ended[at] = true
		}
	}
	return c
}

func (c *crashSubmitter) run(ctx context.Context, plan crashPlan) {
	var lanes sync.WaitGroup
	for lane, steps := range plan {
		lanes.Go(func() {
			for step, s := range steps {
				c.step(ctx, [2]int{lane, step}, s)
			}
		})
	}
	lanes.Wait()
}

func (c *crashSubmitter) step(ctx context.Context, at [2]int, s crashStep) {
	begun, again := c.begun[at]
	if c.ended[at] || again && s.GiveUp {
		return
	}
	event := crashEvent{User: s.User, ID: s.ID, Lane: at[0], Step: at[1], SendAt: begun.SendAt}
	if !again {
		time.Sleep(s.Wait)
		if s.In > 0 {
			event.SendAt = time.Now().Add(s.In).UTC().Truncate(time.Millisecond)
		}
	}
	event.Event = eventBegins
	c.journal.write(event)
	o, err := c.ask(ctx, s, event.SendAt)
	event.Event, event.Outcome = eventEnds, &o
	if err != nil {
		event.Event, event.Outcome, event.Detail = eventFails, nil, err.Error()
	}
	c.journal.write(event)
}

func (c *crashSubmitter) ask(ctx context.Context, s crashStep, at time.Time) (message.Outcome, error) {
	switch s.Do {
	case doMove:
		return c.Move(ctx, s.User, s.ID, at)
	case doCancel:
		return c.Cancel(ctx, s.User, s.ID)
	}
	m := message.Message{
		ID: s.ID, User: s.User, SendAt: at, Now: at.IsZero(), Account: s.Account, Campaign: s.Campaign,
		Title: contentOf(s.User, s.ID, s.Life), Data: map[string]string{"provider": s.Provider},
	}
	if s.Shift && !m.Now {
		m.OnConflict, m.ShiftUntil = message.OnConflictShift, at.Add(2*time.Second)
	}
	if s.Expires > 0 && !m.Now {
		m.ExpiresAt = at.Add(s.Expires)
	}
	return c.Submit(ctx, m)
}

// contentOf returns the content of a message, which identifies it.
func contentOf(user, id string, life int) string {
	return fmt.Sprintf("%s/%s/%d", user, id, life)
}

// parseContent parses such a content.
func parseContent(text string) (name messageName, life int, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return name, 0, false
	}
	life, err := strconv.Atoi(parts[2])
	return messageName{parts[0], parts[1]}, life, err == nil
}
