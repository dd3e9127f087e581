package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// judged sends a batch, and returns the answer of each line.
func (r *rig) judged(key, target string, lines ...string) []message.Outcome {
	r.Helper()
	q := ndjsonOf(target, lines...)
	if key != "" {
		q.use(key)
	}
	got := r.send(q)
	require.Equal(r, http.StatusOK, got.status, string(got.body))
	var outcomes []message.Outcome
	for line := range strings.Lines(string(got.body)) {
		var o message.Outcome
		require.NoError(r, json.Unmarshal([]byte(line), &o))
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// ndjsonOf is a request of lines.
func ndjsonOf(target string, lines ...string) request {
	return request{http.MethodPost, target, strings.Join(lines, "\n"), http.Header{"Content-Type": {"application/x-ndjson"}}}
}

// planned returns lines of two users, some of which conflict.
func planned() []string {
	line := func(user, id, clock, more string) string {
		return fmt.Sprintf(`{"user":%q,"id":%q,"send_at":%q,"title":"Hi"%s}`, user, id, on22(clock), more)
	}
	return []string{
		line("alice", "c", "11:11:12", ""), // a of the store is in the way
		line("alice", "d", "14:00:00", ""),
		line("bob", "e", "14:00:00", ""),
		line("alice", "f", "14:00:30", ""), // d is in the way
		"{broken",
		line("alice", "f", "14:00:30", `,"on_conflict":"shift"`),
		line("alice", "d", "14:00:00", ""), // again
		line("alice", "d", "15:00:00", ""), // another message of the id
		line("bob", "g", "14:00:59", ""),
	}
}

// A dry run has the same outcomes as the batch, line by line, and changes nothing.
func TestADryRunOfABatchIsTheBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	booked(r)
	noted(r)
	before := r.store.Dump()
	dry := r.judged("", checkBatchPath, planned()...)
	require.Equal(t, before, r.store.Dump(), "nothing is left behind")
	require.Equal(t, []string{
		message.Refused, message.Accepted, message.Accepted, message.Refused, message.Invalid,
		message.Accepted, message.Accepted, message.Refused, message.Refused,
	}, kinds(dry))
	require.Equal(t, "d", dry[3].Violations[0].Conflicts[0].ID, "earlier lines count")
	require.True(t, dry[5].Shifted)
	require.True(t, dry[6].Replayed)
	require.Equal(t, fault.CodeIDReused, dry[7].Code)
	require.Equal(t, dry, r.judged("", batchPath, planned()...))
}

// kinds are the outcomes of lines.
func kinds(outcomes []message.Outcome) []string {
	all := make([]string, len(outcomes))
	for i, o := range outcomes {
		all[i] = o.Outcome
	}
	return all
}

// A dry run can judge by other rules, and leaves the stored ones unchanged.
func TestADryRunByOtherRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	booked(r)
	line := func(user, clock string) string {
		return fmt.Sprintf(`{"user":%q,"send_at":%q,"title":"Hi"}`, user, on22(clock))
	}
	both := []string{line("alice", "15:00:00"), line("bob", "15:00:00"), line("bob", "15:00:30")}
	policy := `{"rules":["1/hour","2/minute"]}`
	for query, want := range map[string][]string{
		"":                                          {message.Accepted, message.Accepted, message.Refused},
		"?what_if=2/minute":                         {message.Accepted, message.Accepted, message.Accepted},
		"?what_if=2/calendar_day":                   {message.Refused, message.Accepted, message.Refused},
		"?what_if=2/minute,2/calendar_day":          {message.Refused, message.Accepted, message.Accepted},
		"?what_if_policy=true":                      {message.Accepted, message.Accepted, message.Refused},
		"?what_if_policy=true&what_if=2/hour":       {message.Accepted, message.Accepted, message.Accepted},
		"?what_if_policy=false&what_if=1/5h":        {message.Refused, message.Accepted, message.Refused},
		"?what_if=2/minute&without_free_times=true": {message.Accepted, message.Accepted, message.Accepted},
	} {
		lines, first := both, 1
		if strings.Contains(query, "what_if_policy=true") {
			lines, first = append([]string{policy}, both...), 2
		}
		outcomes := r.judged("", checkBatchPath+query, lines...)
		require.Equal(t, want, kinds(outcomes), query)
		require.Equal(t, first, outcomes[0].Line, query)
	}
	without := r.judged("", checkBatchPath+"?without_free_times=true", both...)
	require.Zero(t, without[2].NextFreeAt)
	without = r.judged("", batchPath+"?without_free_times=true", line("carol", "15:00:00"), line("carol", "15:00:30"))
	require.Equal(t, fault.CodeSendLimit, without[1].Code)
	require.Zero(t, without[1].NextFreeAt)
	require.Equal(t, message.Refused, r.judged("", batchPath, both[2], both[1])[1].Outcome, "the stored rules are as before")
}

func TestOtherRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	operator, sender := r.key("operator", accounts.ScopeAdmin), r.key("sender", accounts.ScopeSubmit)
	for _, wrong := range []struct{ query, first, field, says string }{
		{"?what_if=2", "{}", "what_if", `"2" is not allowed`},
		{"?what_if=", "{}", "what_if", `"" is not allowed`},
		{"?what_if=1/hour,2/hour", "{}", "what_if", "one rule for each window"},
		{"?what_if=1/hour&what_if=2/day", "{}", "what_if", "give it once"},
		{"?what_if_policy=yes", "{}", "what_if_policy", "true or false"},
		{"?what_if_policy=true", `[]`, "what_if_policy", "the first line has to be a policy"},
		{"?what_if_policy=true", `{"rules":["1/hour"],"name":"vip"}`, "policy", `there is no policy "vip"`},
		{"?what_if_policy=true", `{"rules":["often"]}`, "rules", `"often" is not allowed`},
		{"?what_if_policy=true", `{"rule":["1/hour"]}`, "rule", `unknown field "rule"`},
		{"?what_if_policy=true", `{"rules":[` + strings.Repeat(" ", api.DefaultBody) + `]}`, "what_if_policy", "too long"},
	} {
		q := ndjsonOf(checkBatchPath+wrong.query, wrong.first, planned()[1])
		p := r.problem(http.StatusUnprocessableEntity, r.with(operator, q))
		require.Equal(t, wrong.field, p.Field, wrong.query)
		require.Contains(t, p.Detail, wrong.says, wrong.query)
	}
	// A caller who may not change the rules learns nothing about them.
	for _, query := range []string{"?what_if=9/hour", "?what_if_policy=true"} {
		p := r.problem(http.StatusForbidden, r.with(sender, ndjsonOf(checkBatchPath+query, `{"rules":["1/hour"]}`, planned()[1])))
		require.Contains(t, p.Detail, "admin")
	}
	require.Equal(t, message.Accepted, r.judged(sender, checkBatchPath, planned()[1])[0].Outcome)
}

// An account is told the ids of its own messages and of its own lines, and no others.
func TestADryRunConcealsOtherAccountsMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit)
	require.Equal(t, message.Accepted, r.judged(other, batchPath, planned()[1])[0].Outcome)
	line := func(id, clock string) string {
		return fmt.Sprintf(`{"user":"alice","id":%q,"send_at":%q,"title":"Hi"}`, id, on22(clock))
	}
	dry := r.judged(own, checkBatchPath, line("x", "14:01:00"), line("y", "14:00:30"))
	require.Equal(t, message.Accepted, dry[0].Outcome)
	var ids []string
	for _, conflict := range dry[1].Violations[0].Conflicts {
		ids = append(ids, conflict.ID)
	}
	require.Equal(t, []string{"", "x"}, ids)
	require.Equal(t, message.SomeOfOthers, dry[1].Others)
}

// The copies that a dry run makes are bounded by its lines.
func TestADryRunHasABoundedNumberOfLines(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	const most = 10_000
	bad := `{"user":"alice","id":"a","title":"Hi"}` // is judged without the store
	all := slices.Repeat([]string{bad}, most)
	outcomes := r.judged("", checkBatchPath, all...)
	require.Len(t, outcomes, most)
	require.Equal(t, message.Invalid, outcomes[most-1].Outcome)
	outcomes = r.judged("", checkBatchPath, append(all, bad)...)
	require.Len(t, outcomes, most+1)
	last := outcomes[most]
	require.Equal(t, message.Errored, last.Outcome)
	require.Equal(t, most+1, last.Line)
	require.Equal(t, "a dry run has at most 10000 lines: run the rest as another one, which does not count these", last.Detail)
}

// A longer dry run has the same outcomes if each user's lines are together, also for limits that
// users share, such as a quota.
func TestADryRunOfManyUsers(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, func(o *api.Options) { o.Limits.DryRunLines = 10 })
	const users, quota = 18, 17
	key := r.submitter("own", accounts.Tier{Name: "day", MessagesPerDay: quota})
	var all []string
	for i := range users {
		for n := range 2 {
			all = append(all, fmt.Sprintf(`{"user":"user-%d","id":"m-%d","send_at":%q,"title":"Hi"}`, i, n, on22("11:11:11")))
		}
	}
	accepted := 0
	for _, o := range r.judged(key, checkBatchPath, all...) {
		if o.Outcome == message.Accepted {
			accepted++
			require.Equal(t, "m-0", o.ID)
		}
	}
	require.Equal(t, quota, accepted)
	last := r.judged(key, checkBatchPath, append(all, all[0])...)[2*users]
	require.Equal(t, message.Errored, last.Outcome)
	require.Contains(t, last.Detail, "has the lines of each user together")
}

// Dry runs are answered as they are judged, at most four at a time, and their copies are removed
// also if the client leaves.
func TestDryRunsThatStayOpen(t *testing.T) {
	t.Parallel()
	b := newBatches(t, api.Limits{StreamsPerAccount: 32})
	copies := func() int {
		return len(slices.DeleteFunc(b.store.Keys(), func(key string) bool { return !strings.Contains(key, "-dry-") }))
	}
	var open []*talk
	for i := range 4 {
		open = append(open, b.talkTo(checkBatchPath, b.line(fmt.Sprint("user-", i), 0)))
		require.Equal(t, message.Accepted, open[i].hear().Outcome)
	}
	require.NotZero(t, copies())
	require.Equal(t, http.StatusTooManyRequests, b.postTo(checkBatchPath, strings.NewReader(b.line("one more", 0))).status)
	for _, one := range open[:2] {
		require.NoError(t, one.lines.Close())
		one.ends()
	}
	for _, one := range open[2:] {
		require.NoError(t, one.lines.CloseWithError(io.ErrUnexpectedEOF)) // a client that is gone
	}
	require.Eventually(t, func() bool { return copies() == 0 }, time.Minute, time.Millisecond)
}
