package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

const (
	crashCampaign = "spring"
	crashMoveBy   = time.Hour
	// More than a page of messages, and each user has several.
	crashMoveUsers, crashMoveEach = 20, 3
	// campaignName is the name of the processes that move a campaign.
	campaignName = "campaign"
)

// The calls of a move that matter. It takes its turn and keeps it with its notes through one
// script: takes it, notes the first page, notes its end, notes the second page, is done.
const (
	callMove     = "place/move"
	callTurn     = "refit/refit_turn"
	callsOfTurns = 5
)

// A program that moves a campaign is killed, once or twice, and run again. Each message is
// moved once and by the length, none twice, none is left, and the last run counts all of them.
//
// It may not die after it is done: to run it again then is to ask for another move.
func TestAMoveOfACampaignThatIsKilled(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	scripts := nameScripts(t, server.Client())
	stories := [][]crashPoint{
		{{callMove, true, 7}, {callMove, true, 4}},
		{{callMove, false, 40}, {callTurn, true, 2}},
		{{callMove, true, 1}},
		{{callMove, true, crashMoveUsers * crashMoveEach}},
		{{callTurn, false, callsOfTurns}},
	}
	for nth := 1; nth < callsOfTurns; nth++ {
		stories = append(stories, []crashPoint{{callTurn, true, nth}})
	}
	for i, points := range stories {
		t.Run(fmt.Sprint(points), func(t *testing.T) {
			t.Parallel() // they mostly wait for the turn of the one that died
			playMove(t, server, crashConfig{
				Name: campaignName, Addresses: server.Addr, Prefix: "mv" + strconv.Itoa(i), Scripts: scripts,
				Journal: filepath.Join(t.TempDir(), "journal"), Campaign: crashCampaign,
			}, points)
		})
	}
}

// playMove submits a campaign and runs its move, which dies at each of the points, and then
// once more.
func playMove(t *testing.T, server *redistest.Server, config crashConfig, points []crashPoint) {
	t.Helper()
	store := newCrashStore(t, server.Client(), config.Prefix)
	sendAt := submitCampaign(t, store.client, config.Prefix)
	for _, point := range append(points, crashPoint{}) {
		config.Point = point
		p := startCrashProcess(t, config)
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			require.Fail(t, "goes on", "%s\n%s", point, &p.said)
		}
		require.Equal(t, point.Call != "", p.killed(t), "%s\n%s", point, &p.said)
	}
	all := crashMoveUsers * crashMoveEach
	var summary message.CampaignSummary
	for _, e := range readJournal(t, config.Journal) {
		if e.Event == eventEnds {
			require.NoError(t, json.Unmarshal([]byte(e.Detail), &summary))
		}
	}
	require.True(t, summary.Complete)
	require.Equal(t, []int{all, all - 1, 1, 0}, []int{summary.Messages, summary.Done, summary.Refused, summary.Gone})
	for i := range crashMoveUsers {
		user := "user-" + strconv.Itoa(i)
		for k := range crashMoveEach {
			record, err := store.client.HGetAll(t.Context(), store.keys.Record(user, "m"+strconv.Itoa(k))).Result()
			require.NoError(t, err)
			was, is, changes := sendAt(k), sendAt(k).Add(crashMoveBy), "1"
			if i == 0 && k == 1 { // another message has its new time
				is, changes = was, ""
			}
			require.Equal(t, strconv.FormatInt(is.UnixMilli(), 10), record["t"], "%s m%d", user, k)
			require.Equal(t, changes, record["H"], "%s m%d: how often it was moved", user, k)
		}
	}
	store.remove(t, config.Prefix+":*")
}

// submitCampaign submits the messages of the campaign, and one that is in the way of a move.
// It returns the send times.
func submitCampaign(t *testing.T, client redis.UniversalClient, prefix string) (sendAt func(k int) time.Time) {
	t.Helper()
	p, err := policy.Parse(policy.DefaultName, "", "1/minute")
	require.NoError(t, err)
	policies, err := settings.NewPolicies(client, prefix)
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), p))
	submitter, err := submit.New(taskstest.Open(t, client, crashBackend(prefix)), submit.Options{})
	require.NoError(t, err)
	begin := time.Now().UTC().Truncate(time.Second).Add(2 * time.Hour)
	sendAt = func(k int) time.Time { return begin.Add(time.Duration(k) * 10 * time.Minute) }
	accepted := func(m message.Message) {
		m.Title = "Hi"
		o, err := submitter.Submit(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
	}
	for i := range crashMoveUsers {
		for k := range crashMoveEach {
			accepted(message.Message{User: "user-" + strconv.Itoa(i), ID: "m" + strconv.Itoa(k), SendAt: sendAt(k), Campaign: crashCampaign})
		}
	}
	accepted(message.Message{User: "user-0", ID: "other", SendAt: sendAt(1).Add(crashMoveBy)})
	require.NoError(t, submitter.Close())
	return sendAt
}

// crashMover moves the campaign in a process of its own.
func crashMover(ctx context.Context, t *testing.T, config crashConfig, client redis.UniversalClient, journal *crashJournal) {
	t.Helper()
	b := taskstest.Open(t, client, crashBackend(config.Prefix))
	require.NoError(t, b.Listen.Load(ctx))
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(t, err)
	works, err := campaign.New(b)
	require.NoError(t, err)
	summary, err := works.Move(ctx, submitter, campaign.Campaign{Name: config.Campaign}, crashMoveBy, campaign.Watcher{})
	require.NoError(t, err)
	text, err := json.Marshal(summary)
	require.NoError(t, err)
	journal.write(crashEvent{Event: eventEnds, Detail: string(text)})
	require.NoError(t, submitter.Close())
}
