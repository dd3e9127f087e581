package sendlimit_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// updateVersion names the version whose fixture is written anew:
//
//	go test ./sendlimit -run TestTwoVersionsShareAStore -update unreleased
//
// The fixture of a release is written once, under its tag, and never changed.
var updateVersion = flag.String("update", "", "write the fixture of this `version` from the present program") //nolint:globals // a flag

// versionsFolder has a folder for each version. A fixture is what programs of
// that version send to the store: calls.json has the calls of each step of each
// story, and scripts/ has the scripts that they call.
const versionsFolder = "testdata/versions"

// scriptCall is one call of a script.
type scriptCall struct {
	Script string   `json:"script"` // "place/reserve"
	Keys   []string `json:"keys"`
	Args   []string `json:"args"`
}

// version is a fixture.
type version struct {
	name    string
	calls   map[string][]scriptCall // of each story, a call for each step
	scripts map[string]*redis.Script
}

func readVersion(t *testing.T, name string) version {
	t.Helper()
	folder := filepath.Join(versionsFolder, name)
	text, err := os.ReadFile(filepath.Join(folder, "calls.json"))
	require.NoError(t, err)
	v := version{name: name, scripts: make(map[string]*redis.Script)}
	require.NoError(t, json.Unmarshal(text, &v.calls))
	for _, calls := range v.calls {
		for _, call := range calls {
			script, err := os.ReadFile(filepath.Join(folder, "scripts", filepath.FromSlash(call.Script)+".lua"))
			require.NoError(t, err)
			v.scripts[call.Script] = redis.NewScript(string(script))
		}
	}
	return v
}

func (v version) write(t *testing.T) {
	t.Helper()
	folder := filepath.Join(versionsFolder, v.name)
	for _, calls := range v.calls {
		for _, call := range calls {
			text, err := lua.Text(call.Script)
			require.NoError(t, err)
			file := filepath.Join(folder, "scripts", filepath.FromSlash(call.Script)+".lua")
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		}
	}
	text, err := json.MarshalIndent(v.calls, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "calls.json"), append(text, '\n'), 0o600))
}

// play makes a call as the version made it, and returns the status that the
// script answers.
func (v version) play(t *testing.T, client *redis.Client, call scriptCall) int64 {
	t.Helper()
	args := make([]any, len(call.Args))
	for i, arg := range call.Args {
		args[i] = arg
	}
	cmd := v.scripts[call.Script].Run(t.Context(), client, call.Keys, args...)
	require.NoError(t, cmd.Err(), call.Script)
	return statusOf(t, cmd)
}

// statusOf returns the first element of a script's reply. A plain acceptance is
// the time alone.
func statusOf(t *testing.T, cmd *redis.Cmd) int64 {
	t.Helper()
	reply, ok := cmd.Val().([]any)
	if !ok {
		return statusAllowed
	}
	status, ok := reply[0].(int64)
	require.True(t, ok, "%v", reply)
	return status
}

// callRecorder keeps the last call of a script through a client, and its reply.
type callRecorder struct {
	names map[string]string // of scripts, by hash
	last  scriptCall
	reply *redis.Cmd
}

func (*callRecorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (*callRecorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *callRecorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		reply, ok := cmd.(*redis.Cmd)
		if !ok || cmd.Name() != "evalsha" || err != nil {
			return err
		}
		words := make([]string, len(cmd.Args()))
		for i, arg := range cmd.Args() {
			if text, ok := arg.([]byte); ok {
				words[i] = string(text)
			} else {
				words[i] = fmt.Sprint(arg)
			}
		}
		keys, err := strconv.Atoi(words[2])
		if err != nil {
			return fmt.Errorf("the number of keys: %w", err)
		}
		r.last = scriptCall{Script: r.names[words[1]], Keys: words[3 : 3+keys], Args: words[3+keys:]}
		r.reply = reply
		return nil
	}
}

// Whichever version does which step of a story, each step has the same outcome,
// and so has the story.
func TestTwoVersionsShareAStore(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, embedded := redistest.Embedded(t)
	loadScripts(t, embedded)
	if *updateVersion != "" {
		v := version{name: *updateVersion, calls: make(map[string][]scriptCall)}
		for name, s := range sharedStories(t) {
			v.calls[name] = s.record(t, embedded)
		}
		v.write(t)
	}
	folders, err := os.ReadDir(versionsFolder)
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		v := readVersion(t, folder.Name())
		for name, calls := range v.calls {
			s, known := sharedStories(t)[name]
			require.True(t, known, "a story that was told once is told for ever: %s", name)
			require.Len(t, calls, len(s.steps), name)
			for _, old := range s.turns() {
				s.tell(t, embedded, v, name, old)
			}
		}
	}
}

// The same on a real Redis.
func TestTwoVersionsShareARealStore(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	client := redistest.Real(t).Client()
	loadScripts(t, client)
	folders, err := os.ReadDir(versionsFolder)
	require.NoError(t, err)
	for _, folder := range folders {
		v := readVersion(t, folder.Name())
		for name, s := range sharedStories(t) {
			for _, old := range s.turns() {
				s.tell(t, client, v, name, old)
			}
		}
	}
}

// loadScripts has the store know the present scripts, so that a call is one
// command.
func loadScripts(t *testing.T, client *redis.Client) {
	t.Helper()
	for _, script := range lua.All() {
		require.NoError(t, script.Load(t.Context(), client).Err())
	}
}

// turns lists who does the steps of a story, true for the old version: an upgrade
// before each step, a way back before each, and both in turn.
func (s sharedStory) turns() [][]bool {
	n := len(s.steps)
	var all [][]bool
	for change := range n + 1 {
		upgrade, back := make([]bool, n), make([]bool, n)
		for i := range n {
			upgrade[i], back[i] = i < change, i >= change
		}
		all = append(all, upgrade, back)
	}
	for first := range 2 {
		both := make([]bool, n)
		for i := range n {
			both[i] = i%2 == first
		}
		all = append(all, both)
	}
	return all
}

// tell tells a story on an empty store.
func (s sharedStory) tell(t *testing.T, client *redis.Client, v version, name string, old []bool) {
	t.Helper()
	p := s.begin(t, client)
	for i, step := range s.steps {
		var status int64
		if old[i] {
			status = v.play(t, client, v.calls[name][i])
		} else {
			step.do(p)
			status = statusOf(t, p.recorder.reply)
		}
		require.Equal(t, step.status, status, "%s of version %s, step %d, by the old one: %v", name, v.name, i+1, old)
	}
	require.Equal(t, s.ends, p.look(s.ids()), "%s of version %s, by the old one: %v", name, v.name, old)
}

// record tells a story by the present program, and returns its calls.
func (s sharedStory) record(t *testing.T, client *redis.Client) []scriptCall {
	t.Helper()
	p := s.begin(t, client)
	calls := make([]scriptCall, len(s.steps))
	for i, step := range s.steps {
		step.do(p)
		calls[i] = p.recorder.last
	}
	return calls
}

// ids lists the messages that the end of a story names.
func (s sharedStory) ids() []string {
	ids := make([]string, len(s.ends))
	for i, end := range s.ends {
		ids[i], _, _ = strings.Cut(end, " ")
	}
	return ids
}
