package campaign

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Counting says how to count. Its zero value counts all messages.
type Counting struct {
	// More is the CampaignStatus.More of a stopped count to continue; "" starts a new count.
	More string
	// Within is the time after which to stop at the end of a page; zero means never, a negative one
	// after each page.
	Within time.Duration
	// Progress is called after each page; it may be nil.
	Progress func(counted int)
}

// counted is the content of CampaignStatus.More: the counts, and the cursor of the next page.
type counted struct {
	Cursor   string         `json:"c"`
	Statuses map[string]int `json:"s"`
}

// maxCounted bounds each number in a caller's counted.
const maxCounted = 1 << 40

// Count counts the messages of a campaign by their statuses. If it stops early, the status has
// the counts so far, and More to continue. A message whose status changes meanwhile counts
// once, with the old or the new one.
func (c *Campaigns) Count(ctx context.Context, of Campaign, how Counting) (message.CampaignStatus, error) {
	status := message.CampaignStatus{Campaign: of.Name, Account: of.Account, Statuses: map[string]int{}}
	so, err := countedBefore(how.More)
	if err != nil {
		return status, err
	}
	for word, n := range so.Statuses {
		status.Statuses[word] = n
		status.Messages += n
	}
	since, err := c.pauses.Since(ctx, of)
	if err != nil {
		return status, err
	}
	status.PausedSince = message.Time{Time: since}
	if since, err = c.ends.Since(ctx, of); err != nil {
		return status, err
	}
	status.EndedAt = message.Time{Time: since}
	began := c.clock.Local()
	next, err := c.pages(ctx, of, so.Cursor, find.MaxPage, func(found []messages.Info) (bool, error) {
		for _, s := range found {
			status.Messages++
			status.Statuses[submit.StatusOf(s).Status]++
		}
		if how.Progress != nil {
			how.Progress(status.Messages)
		}
		return how.Within == 0 || c.clock.Local().Sub(began) < how.Within, nil
	})
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok && wrong.Field == "cursor" {
		err = wrongMore(how.More)
	}
	if err != nil {
		return status, err
	}
	if next != "" {
		status.More = counted{next, status.Statuses}.text()
	}
	return status, nil
}

func (c counted) text() string {
	text, _ := json.Marshal(c) // can't fail for these types
	return base64.RawURLEncoding.EncodeToString(text)
}

// countedBefore decodes More. The error is a *fault.InvalidError.
func countedBefore(text string) (c counted, err error) {
	if text == "" {
		return counted{}, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	valid := err == nil && json.Unmarshal(decoded, &c) == nil && c.Cursor != ""
	for word, n := range c.Statuses {
		valid = valid && n >= 0 && n <= maxCounted && slices.Contains(messages.Statuses(), word)
	}
	if !valid {
		return counted{}, wrongMore(text)
	}
	return c, nil
}

func wrongMore(text string) *fault.InvalidError {
	return &fault.InvalidError{Field: "more", Value: text, Want: "the value of more in the answer to a count of the same campaign, as it is"}
}
