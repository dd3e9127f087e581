package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Redis may apply only the first of a script's writes, if its log is torn there. In random
// histories, what each script writes is cut behind one of its writes. Then workers look after the
// messages: each one that has not ended has its watch entry and its place, each that has ended
// does not, none is gone, and none has a part of an edit.
func TestATornScriptHeals(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	other := redistest.Real(t)
	log := &aof{server: server}
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		histories++
		prefix := fmt.Sprintf("torn%d", histories)
		c := newCutter(t, other, prefix)
		_ = log.read(t)
		sendlimittest.PlayMessages(rt, server.Client(), prefix, func(p sendlimittest.Played) {
			for _, writes := range log.read(t) {
				c.cut(rt, p, writes)
			}
		})
	})
}

// The same of a charge and of its settlement: an account is charged for a change that was made,
// once, and for no other.
func TestATornChargeHeals(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	c, log := newCutter(t, redistest.Real(t), ""), &aof{server: server}
	charges, err := quota.New(server.Client(), quota.Options{})
	require.NoError(t, err)
	torn, err := quota.New(c.torn, quota.Options{})
	require.NoError(t, err)
	keys := newCrashStore(t, c.torn, "").keys
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
	charged := 0
	// step cuts what scripts wrote behind each write, and requires the charges once open holds are settled.
	step := func(want int) {
		for _, writes := range log.read(t) {
			for n := 1; n < len(writes); n++ {
				c.tear(writes[:n])
				due, err := torn.Due(t.Context(), time.Now().Add(time.Hour), 10)
				require.NoError(t, err)
				for _, hold := range due {
					_, _, err := torn.Resolve(t.Context(), hold, time.Now().Add(time.Hour))
					require.NoError(t, err)
				}
				for _, key := range []string{keys.Charged("acme", "h", at), keys.Charged("acme", "d", at.Truncate(24*time.Hour))} {
					got, _ := c.torn.Get(t.Context(), key).Int() // 0 without
					require.Equal(t, want, got, "after %d of %q: %s", n, writes, key)
				}
				require.Zero(t, c.torn.Exists(t.Context(), keys.Holds("acme")).Val())
			}
			apply(t, c.whole, writes)
		}
	}
	for _, call := range [][]bool{{true}, {false}, {true, false, true}} { // which changes are made
		requests := make([]quota.Request, len(call))
		for i := range call {
			requests[i] = quota.Request{
				Account: accounts.Account{Name: "acme"}, Tier: accounts.Tier{Name: "small", MessagesPerHour: 5, MessagesPerDay: 9},
				User: "alice", ID: fmt.Sprintf("m%d%d", charged, i), At: at,
			}
		}
		answers := charges.HoldEach(t.Context(), requests...)
		step(charged)
		for i, a := range answers {
			require.NoError(t, a.Err)
			require.True(t, a.Charge.Allowed)
			if call[i] {
				charged++
				require.NoError(t, server.Client().HSet(t.Context(), keys.Record("alice", requests[i].ID), "g", "g", "y", "acme "+a.Charge.Hold.Attempt).Err())
			}
		}
		for i, a := range answers {
			_, err = charges.Settle(t.Context(), time.Time{}, quota.Settlement{Account: "acme", Attempt: a.Charge.Hold.Attempt, Made: call[i]})
			require.NoError(t, err)
			step(charged)
		}
	}
}

// An alert is raised before the record of its message is written: if the log is torn in between, the
// message is submitted again, and a place that is taken raises no alert.
func TestAlertsComeBeforeTheirMessages(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	log, histories, alerts := &aof{server: server}, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		histories++
		sendlimittest.CheckAlerts(rt, server.Client(), fmt.Sprintf("alerts%d", histories))
		for _, writes := range log.read(t) {
			written := false
			for _, command := range writes {
				key := fmt.Sprint(command[1])
				written = written || strings.Contains(key, "}:m:") && strings.EqualFold(fmt.Sprint(command[0]), "HSET") && slices.Contains(command, "t")
				if strings.Contains(key, "}:alert:") {
					alerts++
					require.False(rt, written, "%q", writes)
				}
			}
		}
	})
	require.Positive(t, alerts)
}

// aof is the log of a server.
type aof struct {
	server *redistest.Server
	offset int64
}

// read returns the commands that were logged since it was called last, those of a script together.
func (l *aof) read(t *testing.T) (scripts [][][]any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.server.Folder(), "appendonlydir", "*.incr.aof"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	file, err := os.Open(files[0])
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	_, err = file.Seek(l.offset, io.SeekStart)
	require.NoError(t, err)
	written, err := io.ReadAll(file)
	require.NoError(t, err)
	l.offset += int64(len(written))
	in := bufio.NewReader(bytes.NewReader(written))
	number := func() int {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		require.NoError(t, err)
		return n
	}
	together := false
	for {
		if _, err := in.Peek(1); err != nil {
			return scripts
		}
		command := make([]any, number())
		for i := range command {
			word := make([]byte, number()+2)
			_, err := io.ReadFull(in, word)
			require.NoError(t, err)
			command[i] = string(word[:len(word)-2])
		}
		switch command[0] {
		case "SELECT":
		case "MULTI":
			together, scripts = true, append(scripts, nil)
		case "EXEC":
			together = false
		default:
			if !together {
				scripts = append(scripts, nil)
			}
			scripts[len(scripts)-1] = append(scripts[len(scripts)-1], command)
		}
	}
}

// cutter has what a history wrote, in one database, and in another one the same but for the last
// writes of a script.
type cutter struct {
	*testing.T

	prefix      string
	whole, torn redis.UniversalClient
}

func newCutter(t *testing.T, server *redistest.Server, prefix string) *cutter {
	t.Helper()
	require.NoError(t, server.Client().FlushAll(t.Context()).Err())
	torn := redis.NewClient(&redis.Options{Addr: server.Addr, DB: 1})
	t.Cleanup(func() { _ = torn.Close() })
	return &cutter{T: t, prefix: prefix, whole: server.Client(), torn: torn}
}

// tear lets the torn database have what was written so far, and the first writes of a script.
func (c *cutter) tear(writes [][]any) {
	c.Helper()
	require.NoError(c, c.torn.FlushDB(c.Context()).Err())
	require.NoError(c, c.whole.Eval(c.Context(),
		"for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end return 1", nil).Err())
	apply(c.T, c.torn, writes)
}

// cut cuts the writes of a script behind one of them, and requires that workers mend the rest.
func (c *cutter) cut(rt *rapid.T, p sendlimittest.Played, writes [][]any) {
	before, torn := c.records(c.whole, p), map[string]map[string]string(nil)
	var faults []string
	if len(writes) > 1 {
		c.tear(writes[:rapid.IntRange(1, len(writes)-1).Draw(rt, "writes")])
		c.heal(p)
		faults, torn = c.state(p).faults(c.T), c.records(c.torn, p)
	}
	apply(c.T, c.whole, writes)
	after := c.records(c.whole, p)
	for id := range before {
		if torn != nil && torn[id] == nil && after[id] != nil {
			faults = append(faults, id+" is gone")
		}
	}
	for id, record := range torn {
		ended := record["e"] != ""
		if content := contentOf(record); !ended && content != contentOf(before[id]) && content != contentOf(after[id]) {
			faults = append(faults, fmt.Sprintf("%s has the content %q", id, content))
		}
		if (record["ttl"] == "-1ns") == ended {
			faults = append(faults, id+" expires in "+record["ttl"])
		}
	}
	require.Empty(rt, faults, "a part of %q", writes)
}

// state reads what a torn log left, but for what stays for good reason.
func (c *cutter) state(p sendlimittest.Played) userState {
	u := newCrashStore(c.T, c.torn, c.prefix).state(c.T, p.User, p.IDs)
	maps.DeleteFunc(u.places, func(id string, at int64) bool { // its message may have been sent
		return u.records[id] == nil && at <= p.Now.Add(time.Minute).UnixMilli()
	})
	for id, record := range u.records {
		if record["e"] != "" { // the index may have the campaign of a submit that was lost
			u.campaigns[id] = campaignScores(record)
		}
	}
	return u
}

func contentOf(record map[string]string) string {
	return string(keyspace.JoinContent(func(field string) (string, bool) { value, ok := record[field]; return value, ok }))
}

// records reads the records of a history, each with its time to live as the field ttl.
func (c *cutter) records(client redis.UniversalClient, p sendlimittest.Played) map[string]map[string]string {
	keys := newCrashStore(c.T, client, c.prefix).keys
	found := make(map[string]map[string]string)
	for _, id := range p.IDs {
		record := client.HGetAll(c.Context(), keys.Record(p.User, id)).Val()
		if len(record) > 0 {
			record["ttl"] = client.PTTL(c.Context(), keys.Record(p.User, id)).Val().String()
			found[id] = record
		}
	}
	return found
}

func apply(t *testing.T, client redis.UniversalClient, writes [][]any) {
	t.Helper()
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for _, command := range writes {
			pipe.Do(t.Context(), command...)
		}
		return nil
	})
	if !errors.Is(err, redis.Nil) {
		require.NoError(t, err)
	}
}

// heal does what workers do, once all entries of the watch list are due.
func (c *cutter) heal(p sendlimittest.Played) {
	atOnce := func(_ context.Context, batch func() error) error { return batch() }
	watch, err := messages.NewWatchList(c.torn, p.Options)
	require.NoError(c, err)
	lost := messages.NewLostPlaces(c.torn, keyspace.KeysUnder(p.Options.Prefix))
	index := find.NewIndex(c.torn, keyspace.KeysUnder(p.Options.Prefix), p.Options.WithoutIndex)
	keys := newCrashStore(c.T, c.torn, c.prefix).keys
	due := p.Now
	for _, list := range keys.WatchLists(keyspace.Partition(p.User)) {
		for _, z := range c.torn.ZRangeWithScores(c.Context(), list, 0, -1).Val() {
			if at := time.UnixMilli(int64(z.Score)); at.After(due) {
				due = at
			}
		}
	}
	_, err = watch.BringNear(c.Context(), due)
	require.NoError(c, err)
	entries, _, err := watch.Due(c.Context(), due, 1000)
	require.NoError(c, err)
	for some := range slices.Chunk(entries, messages.MaxHandedOver) {
		_, err = watch.HandOver(c.Context(), some, due)
		require.NoError(c, err)
	}
	_, err = lost.Free(c.Context(), atOnce, p.Now)
	require.NoError(c, err)
	_, err = index.Sweep(c.Context(), watch, atOnce)
	require.NoError(c, err)
}
