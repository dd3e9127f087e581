package worldtest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// judgeCharges requires that accounts and throttles are charged for exactly the existing messages,
// and that no period exceeds its limit.
func (v *verdict) judgeCharges(tb testing.TB) {
	tb.Helper()
	zones, tiers := make(map[string]*time.Location), make(map[string]accounts.Tier)
	for _, a := range v.Plan.Accounts {
		tiers[a.Name] = a.tier()
		zone, err := calendar.ParseTimeZone(a.Zone)
		require.NoError(tb, err)
		zones[a.Name] = zone
	}
	model := sendlimittest.NewChargeModel(zones)
	model.Tiers = tiers
	for _, k := range v.sorted() {
		if _, gone := v.erased[k.user]; !gone {
			s := k.standing
			if s.State == messages.StateDropped && s.EndedAt.Before(s.SendAt) {
				s.Reason = messages.ReasonSettings // before the place that it has, not the promised one
			}
			if !s.Promised.IsZero() { // a late message stays charged where it was accepted
				s.SendAt = s.Promised
			}
			if place, ok := k.beforeRevival(); ok { // and so does a dead letter
				s.SendAt = place
			}
			shift(v.Ahead[k.user], &s.SendAt, &s.EndedAt)
			model.Update(s)
		}
	}
	want, found := model.Wanted(v.keys, v.Charged), maps.Clone(v.Charged)
	maps.DeleteFunc(found, func(key string, _ int) bool { return !strings.Contains(key, "}:q:") })
	if len(v.erased) == 0 && !maps.Equal(want, found) {
		v.fault("charges: the messages are %v, and charged is %v", want, found)
	}
	for _, a := range v.Plan.Accounts {
		for key, n := range found {
			for unit, limit := range map[string]int64{"h": a.PerHour, "d": a.PerDay} {
				if limit > 0 && strings.Contains(key, ":q:"+a.Name+":"+unit+":") && int64(n) > limit {
					v.fault("quota: %s has %d, and its limit is %d", key, n, limit)
				}
			}
		}
	}
	if most := v.maxOffers(); most > 0 {
		for key, n := range found {
			if strings.Contains(key, "~") && n > most {
				v.fault("throttle: %s has %d, and the limit was never above %d", key, n, most)
			}
		}
	}
}

// beforeRevival returns the place at which a dead letter was accepted, if an operator sent it again;
// false for any other message.
func (k *known) beforeRevival() (place time.Time, ok bool) {
	for _, p := range k.placements {
		switch {
		case p.By == "message/revive":
			return place, true
		case !p.To.IsZero() && p.By != "message/claim":
			place = p.To
		}
	}
	return time.Time{}, false
}

// maxOffers returns the highest limit that the throttle ever had; 0 for none.
func (v *verdict) maxOffers() int {
	most := 0
	for _, c := range v.changes {
		for _, p := range c.Policies {
			most = max(most, p.Categories[CategoryOffers].Throttle.Limit)
		}
	}
	return most
}

// judgeMails requires that a contact gets one alert for each threshold.
func (v *verdict) judgeMails(tb testing.TB) {
	tb.Helper()
	told := make(map[string]int)
	unknown := 0
	of := make(map[string]int64) // the highest percent by contact
	for _, m := range v.Mails {
		told[m.ID]++
		if !m.Told || v.Halted[m.Process] {
			unknown++
		}
		of[m.To] = max(of[m.To], int64(m.Percent))
	}
	for id, times := range told {
		if times > 1+unknown {
			v.fault("alerts: %s was sent %d times, %d of which nobody could know", id, times, unknown)
		}
	}
	for _, a := range v.Plan.Accounts {
		want := int64(0)
		for key, n := range v.Charged {
			if !strings.Contains(key, ":q:"+a.Name+":d:") {
				continue
			}
			for _, percent := range []int64{80, 100} {
				if int64(n)*100 >= percent*a.PerDay {
					want = max(want, percent)
				}
			}
		}
		if got := of[a.Name+"@example.com"]; got < want { // an alert that waits is superseded by a later one
			v.fault("alerts: %s reached %d percent, and was told of %d", a.Name, want, got)
		}
	}
}

// judgeEvents requires that the events of a message are its changes, in their order. If one of
// several masters loses its last writes, another may already have the event of a lost change. The
// change is made again, with a second event.
func (v *verdict) judgeEvents(tb testing.TB) {
	tb.Helper()
	log, err := events.NewLog(v.Client, events.Options{})
	require.NoError(tb, err)
	of := make(map[name][]events.Event)
	for after := ""; ; {
		read, err := log.Read(tb.Context(), keyspace.Everyone, after, events.MaxRead)
		require.NoError(tb, err)
		if len(read) == 0 {
			break
		}
		for _, e := range read {
			n := name{e.User, e.MessageID}
			of[n] = append(of[n], e)
		}
		after = read[len(read)-1].ID
	}
	for _, k := range v.sorted() {
		if _, gone := v.erased[k.user]; gone || k.standing.State == messages.StateUnknown {
			continue
		}
		var got []string
		for _, e := range of[k.name] {
			got = append(got, string(e.Type))
		}
		if first := slices.Index(got, messages.ChangeCancelled); k.submittedAgain() && k.standing.State != messages.StateCancelled {
			got = got[first+1:] // the events of both messages have the id
		}
		if len(v.Plan.Masters) > 1 && (v.Plan.Has(PowerCuts) || v.Plan.Has(TornTwice)) && len(got) > 1 && got[len(got)-1] == got[len(got)-2] {
			got = got[:len(got)-1]
		}
		if len(k.standing.History) < messages.MaxHistory && !areEvents(got, k.standing.History) {
			v.fault("events: of %s are %v, and its history is %v", k, got, namesOf(k.standing.History))
		}
	}
}

// areEvents reports whether events are those of a history. A late message that is sent at once has
// no event for its postponement, unless it was judged with an older one.
func areEvents(got []string, history []messages.Change) bool {
	if len(history) == 0 {
		return len(got) == 0
	}
	c, rest := history[0], history[1:]
	if !isEvent(c.What) {
		return areEvents(got, rest)
	}
	told := len(got) > 0 && (got[0] == c.What || c.What == messages.ChangeRevived && got[0] == string(events.Moved))
	if told && areEvents(got[1:], rest) {
		return true
	}
	return c.What == messages.ChangePostponed && !c.SendAt.After(c.At) && areEvents(got, rest)
}

// namesOf names the changes of a history.
func namesOf(history []messages.Change) (names []string) {
	for _, c := range history {
		name := c.What
		if c.What == messages.ChangePostponed && !c.SendAt.After(c.At) {
			name += " to now"
		}
		names = append(names, name)
	}
	return names
}

// isEvent reports whether a change of a message is an event, too.
func isEvent(change string) bool {
	switch change {
	case messages.ChangeDelivered, messages.ChangePostponed, messages.ChangeDropped, messages.ChangeFailed,
		messages.ChangeUncertain, messages.ChangeMoved, messages.ChangeReplaced, messages.ChangeCancelled, messages.ChangeRevived:
		return true
	default:
		return false
	}
}

// judgeStore requires that the index has exactly the existing messages, and that no data is left over.
func (v *verdict) judgeStore(tb testing.TB) {
	tb.Helper()
	ctx := tb.Context()
	index := find.NewIndex(v.Client, keyspace.KeysUnder(""), false)
	for _, campaign := range []string{"spring", "autumn"} {
		var got, want []string
		for cursor := ""; ; {
			page, err := index.Page(ctx, find.Filter{Campaign: campaign}, cursor, 1000)
			require.NoError(tb, err)
			for _, m := range page.Messages {
				got = append(got, m.User+"/"+m.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		for _, k := range v.sorted() {
			if k.standing.Campaign == campaign && k.standing.State != messages.StateUnknown {
				want = append(want, k.String())
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(want, got) {
			v.fault("index: %s has %v, and the store %v", campaign, got, want)
		}
	}
	if v.open {
		return
	}
	for _, pattern := range []string{":{p*}:watch", ":{p*}:holds", ":{p*}:far:*"} {
		if left := v.keysLike(tb, v.keys.Prefix()+pattern); len(left) > 0 {
			v.fault("left behind: %v", left)
		}
	}
	for _, key := range v.keysLike(tb, "asynq:*") {
		kind := key[strings.LastIndexByte(key, ':')+1:]
		if !slices.Contains([]string{"scheduled", "pending", "active", "retry", "archived"}, kind) {
			continue
		}
		var n int64
		var err error
		if kind == "active" && v.leavesActive() {
			continue
		}
		if kind == "pending" || kind == "active" {
			n, err = v.Client.LLen(ctx, key).Result()
		} else {
			// A task of a message that was moved or erased may stay until its time: it does nothing.
			n, err = v.Client.ZCount(ctx, key, "-inf", strconv.FormatInt(v.Ended.Add(-time.Minute).Unix(), 10)).Result()
		}
		require.NoError(tb, err)
		if n > 0 {
			v.fault("left behind: %s tasks in %s", strconv.FormatInt(n, 10), key)
		}
	}
	for _, key := range v.keysLike(tb, v.keys.Prefix()+":{*") {
		if v.Client.PTTL(ctx, key).Val() == -1 && !lasts(key) {
			v.fault("left behind: %s never expires", key)
		}
	}
}

// lasts reports whether a key may exist for ever: a setting, or an index with swept entries.
func lasts(key string) bool {
	_, after, _ := strings.Cut(key, "}:")
	kind, _, _ := strings.Cut(after, ":")
	return slices.Contains([]string{"ids", "camps", "users", "o", "d", "devices", "owners", "accounts", "keys", "tiers", "rate", "stored", "versions", "changes", "windows"}, kind)
}

// judgeDevices requires that the device count of an account is right and within its limit. The
// changes of a program without an answer may be counted late, by the sweep.
func (v *verdict) judgeDevices(tb testing.TB) {
	tb.Helper()
	ctx := tb.Context()
	known := devices.New(v.Client, keyspace.KeysUnder(""), devices.Options{})
	if v.failed > 0 || len(v.erased) > 0 {
		require.NoError(tb, known.Sweep(ctx, func(_ context.Context, batch func() error) error { return batch() }))
	}
	registered := 0
	for _, u := range v.Plan.Users {
		list, err := known.List(ctx, u.Name)
		require.NoError(tb, err)
		for _, d := range list {
			if d.Account == PhonesAccount {
				registered++
			}
		}
	}
	counted, err := known.Count(ctx, PhonesAccount)
	require.NoError(tb, err)
	most := MaxPhones
	if v.Plan.Has(Clock) { // a step ends the holds of registrations that are being made, one for each user
		most += len(v.Plan.Users)
	}
	if counted != int64(registered) || registered > most {
		v.fault("devices: %d are counted, %d are registered of at most %d, %d calls failed", counted, registered, most, v.failed)
	}
}

// keysLike lists the keys that match a pattern.
func (v *verdict) keysLike(tb testing.TB, pattern string) []string {
	tb.Helper()
	ctx := tb.Context()
	var mu sync.Mutex
	var keys []string
	of := func(ctx context.Context, node *redis.Client) error {
		found, err := node.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, found...)
		return err
	}
	switch client := v.Client.(type) {
	case *redis.ClusterClient:
		require.NoError(tb, client.ForEachMaster(ctx, of))
	case *redis.Client:
		require.NoError(tb, of(ctx, client))
	}
	slices.Sort(keys)
	return keys
}
