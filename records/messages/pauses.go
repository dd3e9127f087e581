package messages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxPaused is the maximum number of paused campaigns of an account. Each claim gets them.
const MaxPaused = 200

// PauseLag is the maximum age of the PausedCampaigns of a claim, including the time of the claim.
const PauseLag = 4 * time.Second

// Campaign is a campaign of an account, "" without accounts.
type Campaign struct {
	Account string
	Name    string
}

// Check returns an *InvalidError if the names are not valid.
func (c Campaign) Check() error {
	if c.Account != "" && !keyspace.ValidName(c.Account) {
		return &fault.InvalidError{Field: "account", Value: c.Account, Want: keyspace.WantName}
	}
	if !keyspace.ValidCampaign(c.Name) {
		return &fault.InvalidError{Field: "campaign", Value: c.Name, Want: keyspace.WantCampaign}
	}
	return nil
}

// String returns the campaign as it is stored.
func (c Campaign) String() string { return c.Account + "/" + c.Name }

// PausedCampaigns are the paused campaigns. The zero value has none.
type PausedCampaigns struct {
	words string
	count int
}

// PausedOf returns a set of campaigns.
func PausedOf(paused ...Campaign) PausedCampaigns {
	words := make([]string, len(paused))
	for i, c := range paused {
		words[i] = c.String()
	}
	slices.Sort(words)
	return pausedOf(words)
}

// pausedOf returns the set of sorted campaigns as they are stored.
func pausedOf(words []string) PausedCampaigns {
	if len(words) == 0 {
		return PausedCampaigns{}
	}
	return PausedCampaigns{" " + strings.Join(words, " ") + " ", len(words)}
}

// Large reports whether a claim should get only the campaigns of its account: there are more than
// one account can have.
func (s PausedCampaigns) Large() bool { return s.count > MaxPaused }

// Of returns the campaigns of an account, "" for none.
func (s PausedCampaigns) Of(account string) PausedCampaigns {
	var words []string
	for word := range strings.FieldsSeq(s.words) {
		if of, _, _ := strings.Cut(word, "/"); of == account {
			words = append(words, word)
		}
	}
	return pausedOf(words)
}

// Argument returns the set for lua/fragments/paused.lua.
func (s PausedCampaigns) Argument() string { return s.words }

// Pauses keeps the paused campaigns in the store. It is safe for concurrent use.
//
// A paused campaign is a field of one small hash, beside the states of the channels. Workers read
// the whole hash about once a second, and pass it to each claim: see Delivery.Paused. The gate lets
// messages of the campaign wait at their places, which count for all others. It checks such a
// message once an hour, and when it expires.
//
// To resume a campaign, remove the pause, wait for PauseLag, and call ResumeMessage for each of its
// messages: they are judged as late messages. If the caller dies in between, nothing is lost: the
// hourly check finds the rest, and another resume continues.
type Pauses struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewPauses returns the pauses of a store.
func NewPauses(client redis.Cmdable, keys keyspace.Keys) *Pauses {
	return &Pauses{client: client, keys: keys}
}

// Pause pauses a campaign, and returns since when it is paused. A second call changes nothing. It
// takes effect within PauseLag. The error is an *InvalidError, also if the account has MaxPaused
// already, or an *UnavailableError. A zero now means the server's clock.
func (p *Pauses) Pause(ctx context.Context, c Campaign, now time.Time) (since time.Time, err error) {
	const doing = "pausing a campaign"
	if err := c.Check(); err != nil {
		return time.Time{}, err
	}
	in := script.Call(ctx, p.client, lua.CampaignPause, doing, []string{p.keys.Stopped()},
		[]any{script.Milliseconds(now), c.Account, c.Name, MaxPaused})
	paused, since := in.Int(0) == 1, in.Time(1)
	if in.Err == nil && !paused {
		return time.Time{}, &fault.InvalidError{
			Field: "campaign", Value: c.Name,
			Says: fmt.Sprintf("campaign %q can't be paused: the account has %d paused campaigns, which is the most; resume one first",
				c.Name, MaxPaused),
		}
	}
	return since, in.Err
}

// Resume ends the pause of a campaign, and reports whether there was one. Call ResumeMessage for
// its messages.
func (p *Pauses) Resume(ctx context.Context, c Campaign) (was bool, err error) {
	if err := c.Check(); err != nil {
		return false, err
	}
	removed, err := p.client.HDel(ctx, p.keys.Stopped(), c.String()).Result()
	return removed > 0, store.Explain(err, "resuming a campaign")
}

// Since returns since when a campaign is paused; zero if it is not.
func (p *Pauses) Since(ctx context.Context, c Campaign) (time.Time, error) {
	const doing = "looking at a campaign"
	if err := c.Check(); err != nil {
		return time.Time{}, err
	}
	values, err := p.client.HMGet(ctx, p.keys.Stopped(), c.String()).Result()
	if err != nil {
		return time.Time{}, store.Explain(err, doing)
	}
	f := script.ReadFields([]string{c.String()}, values)
	return f.Time(c.String()), f.Err(doing)
}

// Load returns the paused campaigns.
func (p *Pauses) Load(ctx context.Context) (PausedCampaigns, error) { return p.Ask(ctx, p.client)() }

// Ask makes the reads of Load in a client or a pipeline, and returns the function that loads the replies.
func (p *Pauses) Ask(ctx context.Context, client redis.Cmdable) (load func() (PausedCampaigns, error)) {
	fields := client.HGetAll(ctx, p.keys.Stopped())
	return func() (PausedCampaigns, error) { return readPaused(fields) }
}

func readPaused(reply *redis.MapStringStringCmd) (PausedCampaigns, error) {
	found, err := reply.Result()
	if err != nil {
		return PausedCampaigns{}, store.Explain(err, "looking for paused campaigns")
	}
	paused := make([]Campaign, 0, len(found))
	for field := range found {
		account, name, _ := strings.Cut(field, "/")
		if c := (Campaign{Account: account, Name: name}); c.Check() == nil {
			paused = append(paused, c)
		}
	}
	return PausedOf(paused...), nil
}

// ResumeMessage ends the wait of a message for its campaign. It reports false for any other
// message, which it does not change. A repeated call with the same generation returns the same
// answer. A zero now means the server's clock.
func (p *Pauses) ResumeMessage(ctx context.Context, user, id, generation string, now time.Time) (resumed bool, err error) {
	const doing = "resuming a message"
	if err := keyspace.CheckMessage(user, id); err != nil {
		return false, err
	}
	if err := keyspace.CheckToken("generation", generation); err != nil {
		return false, err
	}
	in := script.Call(ctx, p.client, lua.Resume, doing, []string{p.keys.Record(user, id)},
		[]any{script.Milliseconds(now), generation, keyspace.WatchWord(user, id)})
	_ = in.Time(1)
	return script.Yes(in)
}
