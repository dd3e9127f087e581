package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

const (
	killedCampaign = "spring"
	killedMoveBy   = time.Hour
	// More than a page of messages, and each user has several.
	killedMoveUsers, killedMoveEach = 20, 3
	// killedEnv is where a process that moves a campaign writes how it ended.
	killedEnv = "SENDLIMIT_TEST_CAMPAIGN_SUMMARY"
)

// The calls of a move that matter. It takes its turn and keeps it with its notes through one
// script: takes it, notes the first page, notes its end, notes the second page, is done.
const (
	callMove     = "place/move"
	callTurn     = "turn/job"
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
	for _, script := range lua.All() { // so that every call needs only one command
		require.NoError(t, script.Load(t.Context(), server.Client()).Err())
	}
	stories := [][]worldDeath{
		{{Call: callMove, After: true, Nth: 6}, {Call: callMove, After: true, Nth: 3}},
		{{Call: callMove, Nth: 39}, {Call: callTurn, After: true, Nth: 1}},
		{{Call: callMove, After: true}},
		{{Call: callMove, After: true, Nth: killedMoveUsers*killedMoveEach - 1}},
		{{Call: callTurn, Nth: callsOfTurns - 1}},
	}
	for nth := range callsOfTurns - 1 {
		stories = append(stories, []worldDeath{{Call: callTurn, After: true, Nth: nth}})
	}
	for i, deaths := range stories {
		t.Run(fmt.Sprint(deaths), func(t *testing.T) {
			t.Parallel() // they mostly wait for the turn of the one that died
			playMove(t, server, worldConfig{Campaign: killedCampaign, Addresses: server.Addr, Prefix: "mv" + strconv.Itoa(i), Horizon: time.Minute}, deaths)
		})
	}
}

// playMove submits a campaign and runs its move, which dies at each of the points, and then
// once more.
func playMove(t *testing.T, server *redistest.Server, config worldConfig, deaths []worldDeath) {
	t.Helper()
	sendAt := submitCampaign(t, server.Client(), config.Prefix)
	path := filepath.Join(t.TempDir(), "summary")
	for i := range len(deaths) + 1 {
		config.Death = nil
		if i < len(deaths) {
			config.Death = &deaths[i]
		}
		text, err := json.Marshal(config)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWorldProcess$", "-test.timeout=5m")
		command.Env = append(os.Environ(), worldEnv+"="+string(text), killedEnv+"="+path)
		said, err := command.CombinedOutput()
		require.NoError(t, ctx.Err(), "%+v goes on\n%s", config.Death, said)
		cancel()
		require.Equal(t, config.Death != nil, bytes.Contains(said, []byte("\ndied ")), "%+v\n%s", config.Death, said)
		require.Equal(t, config.Death == nil, err == nil, "%+v\n%s", config.Death, said)
	}
	all := killedMoveUsers * killedMoveEach
	var summary message.CampaignSummary
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &summary))
	require.True(t, summary.Complete)
	require.Equal(t, []int{all, all - 1, 1, 0}, []int{summary.Messages, summary.Done, summary.Refused, summary.Gone})
	keys, err := keyspace.NewKeys(config.Prefix)
	require.NoError(t, err)
	for i := range killedMoveUsers {
		user := "user-" + strconv.Itoa(i)
		for k := range killedMoveEach {
			record, err := server.Client().HGetAll(t.Context(), keys.Record(user, "m"+strconv.Itoa(k))).Result()
			require.NoError(t, err)
			was, is, changes := sendAt(k), sendAt(k).Add(killedMoveBy), "1"
			if i == 0 && k == 1 { // another message has its new time
				is, changes = was, ""
			}
			require.Equal(t, strconv.FormatInt(is.UnixMilli(), 10), record["t"], "%s m%d", user, k)
			require.Equal(t, changes, record["H"], "%s m%d: how often it was moved", user, k)
		}
	}
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
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Prefix: prefix, Horizon: time.Minute}), submit.Options{})
	require.NoError(t, err)
	begin := time.Now().UTC().Truncate(time.Second).Add(2 * time.Hour)
	sendAt = func(k int) time.Time { return begin.Add(time.Duration(k) * 10 * time.Minute) }
	accepted := func(m message.Message) {
		m.Title = "Hi"
		o, err := submitter.Submit(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
	}
	for i := range killedMoveUsers {
		for k := range killedMoveEach {
			accepted(message.Message{User: "user-" + strconv.Itoa(i), ID: "m" + strconv.Itoa(k), SendAt: sendAt(k), Campaign: killedCampaign})
		}
	}
	accepted(message.Message{User: "user-0", ID: "other", SendAt: sendAt(1).Add(killedMoveBy)})
	require.NoError(t, submitter.Close())
	return sendAt
}

// moveCampaign moves the campaign in a process of its own.
func moveCampaign(ctx context.Context, t *testing.T, name string, b *backend.Backend) {
	t.Helper()
	require.NoError(t, b.Listen.Load(ctx))
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(t, err)
	works, err := campaign.New(b)
	require.NoError(t, err)
	summary, err := works.Move(ctx, submitter, campaign.Campaign{Name: name}, killedMoveBy, campaign.Watcher{})
	require.NoError(t, err)
	text, err := json.Marshal(summary)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(os.Getenv(killedEnv), text, 0o600))
	require.NoError(t, submitter.Close())
}
