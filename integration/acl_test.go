package integration_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// aclStory is programs on a Redis that grants them what docs/redis.md lists, and no more.
type aclStory struct {
	*testing.T

	programs programs
	server   *redistest.Server
	rules    map[string][]string // of each user, as documented
	folder   string
}

func newACLStory(t *testing.T) *aclStory {
	t.Helper()
	a := &aclStory{
		T: t, programs: buildPrograms(t), rules: make(map[string][]string), folder: t.TempDir(),
		server: redistest.Real(t, "--appendonly", "yes", "--repl-diskless-sync-delay", "0"),
	}
	host, port, err := net.SplitHostPort(a.server.Addr)
	require.NoError(t, err)
	redistest.Real(t, "--replicaof", host+" "+port) // for wait_replicas
	require.Eventually(t, func() bool { return online(t, a.server) }, 60*time.Second, 50*time.Millisecond)
	text, err := os.ReadFile("../docs/redis.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "ACL" || words[1] != "SETUSER" {
			continue
		}
		arguments := make([]any, len(words))
		for i, word := range words {
			arguments[i] = word
		}
		require.NoError(t, a.server.Client().Do(t.Context(), arguments...).Err(), line)
		a.rules[words[2]] = words[3:]
	}
	require.Len(t, a.rules, 2)
	return a
}

// environ returns the settings of programs that log in as a user.
func (a *aclStory) environ(user string) []string {
	return []string{"REDIS_URL=redis://" + user + ":PASSWORD@" + a.server.Addr, "SENDLIMIT_WAIT_REPLICAS=1", "SENDLIMIT_PUSH_URL=log:"}
}

// reset forgets which commands were run.
func (a *aclStory) reset() {
	a.Helper()
	require.NoError(a, a.server.Client().ConfigResetStat(a.Context()).Err())
}

// file writes a file, and returns its path.
func (a *aclStory) file(name, text string) string {
	a.Helper()
	path := filepath.Join(a.folder, name)
	require.NoError(a, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run runs a command line of a program as a user. Every status is allowed but that of a
// store that can't be used, and that of a surprise.
func (a *aclStory) run(user, line string) string {
	a.Helper()
	name, arguments, _ := strings.Cut(line, " ")
	got := a.programs.command(a.T, name, a.environ(user), strings.Fields(arguments))
	require.Contains(a, []int{0, 3, 4}, got.status, "%s\n%s%s", line, got.stdout, got.stderr)
	return got.stdout
}

// ran returns the commands that were run, also by scripts, as ACL spells them.
func (a *aclStory) ran() []string {
	a.Helper()
	info, err := a.server.Client().Info(a.Context(), "commandstats").Result()
	require.NoError(a, err)
	var ran []string
	for line := range strings.Lines(info) {
		if name, _, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":"); found {
			ran = append(ran, name)
		}
	}
	slices.Sort(ran)
	return ran
}

// inScripts returns the commands of the scripts in lua, as ACL spells them.
func inScripts(t *testing.T) map[string]bool {
	t.Helper()
	called := regexp.MustCompile(`\b(?:redis\.p?)?call\(\s*["']([A-Za-z]+)["']`)
	found := make(map[string]bool)
	for _, name := range lua.NamesByHash() {
		text, err := lua.Text(name)
		require.NoError(t, err)
		for _, call := range called.FindAllStringSubmatch(text, -1) {
			found[strings.ToLower(call[1])] = true
		}
	}
	return found
}

// seldom are commands that are granted although no story here needs them.
func seldom() map[string]string {
	return map[string]string{
		"rpush": "asynq gives back what a worker had taken when it stops",
		"hscan": "a user is erased while dry runs run", "zrank": "very many messages are looked through",
		"watch":   "a layout is raised, a user's notices are erased",
		"unwatch": "the same",
	}
}

// used requires that each command and each pattern of a user was needed.
func (a *aclStory) used(user string) {
	a.Helper()
	ran, scripts := a.ran(), inScripts(a.T)
	keys, err := a.server.Client().Keys(a.Context(), "*").Result()
	require.NoError(a, err)
	var idle []string
	for _, rule := range a.rules[user] {
		kind, what := rule[:1], rule[1:]
		switch {
		case kind == "+" && !slices.Contains(ran, what) && !scripts[what] && seldom()[what] == "":
			idle = append(idle, rule)
		case kind == "~" && what != "sendlimit:probe" && what != "sl-dry-*": // one never exists, the others are gone
			if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, strings.TrimSuffix(what, "*")) }) {
				idle = append(idle, rule)
			}
		}
	}
	require.Empty(a, idle, "granted to %s in docs/redis.md, and not needed", user)
	for name := range scripts {
		require.True(a, user != "sendlimit" || slices.Contains(a.rules[user], "+"+name), "scripts call %s", name)
	}
}

// refused requires that nothing was refused.
func (a *aclStory) refused() {
	a.Helper()
	log, err := a.server.Client().ACLLog(a.Context(), 100).Result()
	require.NoError(a, err)
	for _, entry := range log {
		a.Errorf("refused to %s: %s %s", entry.Username, entry.Reason, entry.Object)
	}
}

// The users of docs/redis.md may do what the programs need, and nothing else. The tests of the
// Python client pass with them.
func TestLeastRightsOnRedis(t *testing.T) {
	t.Parallel()
	a := newACLStory(t)
	a.reset()
	worker := a.programs.worker(t, a.environ("sendlimit"))
	worker.delivers(t)
	testPythonClient(t, worker)
	policy := a.file("policy.yaml", "rules: [2/minute, 6/hour, 10/calendar_day]\n")
	a.story("sendlimit", strings.ReplaceAll(operatorLines, "POLICY", policy))
	require.Zero(t, worker.end(t), "%s", &worker.stderr)
	a.used("sendlimit")
	a.refused()

	a.reset()
	at := time.Now().Add(72 * time.Hour).UTC().Format(time.RFC3339)
	bulk := a.file("bulk.csv", "id,user,send_at,title,campaign\na,carol,"+at+",Hi,spring\nb,carol,"+at+",Hi,spring\nc,dave,"+at+",Hi,spring\n")
	a.story("sendlimit-caller", strings.ReplaceAll(callerLines, "BULK", bulk))
	a.used("sendlimit-caller")
	a.refused()
}

// story runs lines of commands as a user.
func (a *aclStory) story(user, lines string) {
	a.Helper()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			a.run(user, line)
		}
	}
}

// operatorLines are commands that reach everything that operators can do.
const operatorLines = `
	sendlimit-worker check
	sendlimit-worker stats
	sendlimit push --user alice --at +3m --title Hello --id one
	sendlimit push --user alice --at +2h --title Hello --id two --campaign spring
	sendlimit push --user alice --at now --title Hello --id three
	sendlimit-worker policy apply POLICY --dry-run
	sendlimit-worker policy apply POLICY --then shift
	sendlimit-worker policy versions default
	sendlimit-worker policy rollback default --to 1
	sendlimit-worker policy list
	sendlimit-worker user set alice --limit 20/calendar_day --contact ops@example.com
	sendlimit-worker user list
	sendlimit-worker user show alice
	sendlimit-worker user export alice
	sendlimit-worker user clear alice
	sendlimit-worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500
	sendlimit-worker account create acme --tier free --time-zone Europe/Berlin
	sendlimit-worker account set acme --contact ops@acme.example
	sendlimit-worker account show acme
	sendlimit-worker account list
	sendlimit-worker account disable acme
	sendlimit-worker account enable acme
	sendlimit-worker account events list acme
	sendlimit-worker event-limit set submit --per-minute 60 --per-day 500
	sendlimit-worker event-limit list
	sendlimit-worker event-limit show submit
	sendlimit-worker event-limit remove submit
	sendlimit-worker pace set --rate 100/second
	sendlimit-worker pace show
	sendlimit-worker pace clear
	sendlimit-worker sending stop --reason maintenance
	sendlimit-worker sending status
	sendlimit-worker sending start
	sendlimit-worker channel list
	sendlimit-worker dead-letters list
	sendlimit-worker dead-letters retry --all
	sendlimit-worker dead-letters purge --all
	sendlimit-worker user erase alice --yes
	sendlimit-worker tier list
`

// callerLines are commands that reach everything that callers can do.
const callerLines = `
	sendlimit push --user alice --at +3m --title Hello --id one
	sendlimit push --user alice --at +3m --title Hello --id again
	sendlimit push --user alice --at +3m --title Hello --id again --on-conflict shift
	sendlimit push --user alice --at +3m --title Hello --id dry --dry-run
	sendlimit push --user erin --at +1s --title Hello --id soon
	sendlimit push --user erin --at +5m --title Hello --id charged --account acme
	sendlimit bulk BULK --dry-run
	sendlimit bulk BULK --dry-run --what-if 2/calendar_day
	sendlimit bulk BULK
	sendlimit bulk BULK
	sendlimit change --user alice one --title Bye
	sendlimit move --user alice one --at +20m
	sendlimit list --user alice
	sendlimit status --user alice one
	sendlimit usage --user alice
	sendlimit next-free --user alice
	sendlimit find one
	sendlimit find --campaign spring
	sendlimit events
	sendlimit campaign count spring
	sendlimit campaign list spring
	sendlimit campaign pause spring
	sendlimit campaign resume spring
	sendlimit campaign move spring --by 1h
	sendlimit campaign cancel spring
	sendlimit campaign reopen spring
	sendlimit cancel --user alice one
	sendlimit device list --user alice
`
