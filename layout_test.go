// Package sendlimiter_test keeps the layout of the repository: imports point downwards only.
// It reads the imports of all modules here, and builds nothing.
package sendlimiter_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sendlimit/sendlimiter"

// floors are the packages from the ground up: a package imports packages of lower floors
// only. Those on one floor know nothing of each other: no group of commands imports another,
// no loop of the worker another loop.
var floors = [][]string{ //nolint:globals // a constant table
	{
		"api/internal/docs", "bench/peers/side", "clients/generate", "cmd/worker/internal/rawtest",
		"deploy/grafana/generate", "deploy/kubernetes", "examples/receiver", "internal/pipe", "lua", "notifier/notice",
		"notifier/payload", "sendlimit/fault", "sendlimit/sendlimittest/output", "tasks/internal/batch",
	},
	{
		"cmd/internal/tracing", "notifier", "sendlimit/calendar", "internal/guard",
		"sendlimit/keyspace", "sendlimit/sendlimittest/redistest",
		"tasks/tracing",
	},
	{
		"notifier/internal/exchange", "notifier/logline", "notifier/notifiertest",
		"notifier/reload", "tasks/internal/gather", "tasks/internal/logs", "tasks/internal/storeclock", "sendlimit/policy", "sendlimit/store",
	},
	{
		"cmd/worker/internal/policyview", "notifier/apns", "notifier/email", "notifier/fcm", "notifier/service", "notifier/webhook", "notifier/webpush",
		"internal/script", "records/seal", "message",
	},
	{"internal/turn", "tasks/internal/persist"},
	{
		"api/internal/web", "client",
		"records/accounts", "records/audit",
		"sendlimit/counters", "records/devices", "records/events", "internal/judge",
		"sendlimit/rate", "records/settings", "tasks/input", "tasks/internal/job", "tasks/retry",
	},
	{
		"config", "examples/order-reminder", "sendlimit",
		"records/activity", "records/session", "tasks/contact", "tasks/device",
	},
	{
		"cmd/internal/channelcheck", "cmd/internal/cli", "records/forecast", "records/messages",
		"records/notices", "sendlimit/sendlimittest/traffic",
	},
	{
		"cmd/internal/picture", "cmd/worker/internal/channels", "records/find", "records/quota", "tasks/internal/ended",
		"sendlimit/sendlimittest/cmd/traffic", "sendlimit/sendlimittest/story",
	},
	{"sendlimit/sendlimittest", "tasks/metrics"},
	{
		"tasks/callbacks", "tasks/channels", "tasks/listen", "tasks/queue", "tasks/rules",
	},
	{"tasks/backend", "tasks/bulk"},
	{"cmd/enqueue/internal/messagefile", "tasks/submit", "tasks/taskstest"},
	{
		"cmd/internal/store", "tasks/campaign", "tasks/deadletters", "tasks/refit", "tasks/userdata",
	},
	{
		"tasks/taskstest/heavy", "tasks/announce", "tasks/deliver",
		"tasks/relay",
	},
	{"tasks", "tasks/overview"},
	{"api", "tasks/worldtest"},
	{"api/apitest", "cmd/internal/operations", "dashboard"},
	{
		"cmd/enqueue/command", "cmd/worker/internal/channel", "cmd/worker/internal/check", "cmd/worker/internal/deadletters",
		"cmd/worker/internal/groups", "cmd/worker/internal/policy", "cmd/worker/internal/serve",
	},
	{"cmd/enqueue", "cmd/sendlimit", "cmd/worker/command"},
	{
		"bench", "bench/peers", "bench/peers/asynq", "bench/peers/river", "bench/peers/sendlimit",
		"cmd/sendlimit-worker", "cmd/worker", "integration",
	},
}

const (
	redis   = "github.com/redis/go-redis/v9"
	store   = redis + " sendlimit/fault internal/script sendlimit/keyspace sendlimit/store"
	scripts = "lua internal/turn " + store
)

// uses lists what some packages import beside the standard library. A package that is not
// here may import whatever floors and refusals allow. Tests may import more.
var uses = map[string]string{ //nolint:globals // a constant table
	"api/internal/docs":       "github.com/danielgtaylor/huma/v2",
	"clients/generate":        "",
	"deploy/grafana/generate": "",
	"deploy/kubernetes":       "",
	"lua":                     redis,
	"sendlimit/fault":         "",
	"sendlimit/calendar":      "sendlimit/fault",
	"internal/guard":          "sendlimit/fault",
	"internal/pipe":           "",
	"sendlimit/keyspace":      "sendlimit/fault",
	"tasks/tracing": redis + " lua go.opentelemetry.io/otel/attribute go.opentelemetry.io/otel/codes" +
		" go.opentelemetry.io/otel/propagation go.opentelemetry.io/otel/semconv go.opentelemetry.io/otel/trace",
	"sendlimit/policy": "sendlimit/calendar sendlimit/fault sendlimit/keyspace",
	"sendlimit/store":  redis + " sendlimit/fault sendlimit/keyspace",
	"records/seal":     redis + " sendlimit/keyspace sendlimit/store",
	"internal/script":  redis + " lua sendlimit/fault sendlimit/keyspace sendlimit/store",
	"message": "sendlimit/calendar sendlimit/fault sendlimit/keyspace sendlimit/policy github.com/agnivade/levenshtein" +
		" github.com/go-json-experiment/json github.com/go-json-experiment/json/jsontext",
	"api/internal/web":        "sendlimit/fault sendlimit/keyspace message",
	"client":                  "sendlimit/fault sendlimit/policy message github.com/google/uuid github.com/standard-webhooks/standard-webhooks/libraries/go",
	"records/accounts":        scripts + " sendlimit/calendar sendlimit/policy",
	"records/audit":           scripts + " sendlimit/calendar",
	"records/session":         redis + " records/accounts sendlimit/keyspace sendlimit/store",
	"sendlimit/counters":      scripts + " sendlimit/calendar internal/guard sendlimit/policy",
	"records/devices":         scripts,
	"records/events":          scripts,
	"internal/judge":          scripts + " sendlimit/calendar sendlimit/policy github.com/hashicorp/golang-lru/v2",
	"sendlimit/rate":          scripts + " sendlimit/calendar internal/guard",
	"records/settings":        scripts + " sendlimit/policy",
	"tasks/retry":             "message",
	"examples/order-reminder": "client",
	"sendlimit":               scripts + " sendlimit/calendar internal/judge sendlimit/policy",
	"records/activity":        scripts + " sendlimit/calendar",
	"records/forecast":        scripts + " sendlimit",
	"internal/turn":           scripts,
	"records/messages":        scripts + " sendlimit internal/judge sendlimit/policy",
	"records/notices":         scripts + " records/activity sendlimit/calendar",
	"records/find":            scripts + " sendlimit records/messages",
	"records/quota": scripts + " sendlimit records/accounts sendlimit/calendar sendlimit/counters records/messages" +
		" sendlimit/policy sendlimit/rate",
	"api": "api/internal/docs api/internal/web notifier/notice notifier/payload sendlimit records/accounts" +
		" records/audit sendlimit/calendar sendlimit/counters records/devices records/events sendlimit/fault" +
		" records/activity records/find sendlimit/keyspace records/messages records/notices sendlimit/policy records/quota sendlimit/rate" +
		" records/seal records/session records/settings tasks/backend tasks/bulk tasks/callbacks tasks/campaign tasks/contact tasks/deadletters" +
		" tasks/channels tasks/deliver tasks/device tasks/input message tasks/overview tasks/refit tasks/rules tasks/submit tasks/tracing" +
		" tasks/userdata github.com/danielgtaylor/huma/v2 github.com/google/uuid" +
		" github.com/klauspost/compress/gzhttp golang.org/x/sync/singleflight",
	"tasks/overview": redis + " sendlimit records/accounts records/activity sendlimit/calendar records/forecast" +
		" sendlimit/keyspace records/messages records/notices sendlimit/rate" +
		" sendlimit/store tasks/backend tasks/channels tasks/deliver message tasks/queue",
	"dashboard": "api client github.com/dustin/go-humanize records/session sendlimit records/accounts records/activity records/audit" +
		" sendlimit/calendar sendlimit/fault records/forecast sendlimit/policy tasks/input message" +
		" tasks/overview github.com/klauspost/compress/gzhttp",
}

// A refusal keeps imports out of packages. Its fields but the last are lists of paths, those
// of this module without its name: x is a package, x/... the packages in a folder as well,
// ... every package of this module, and -x takes x out of the list.
type refusal struct {
	from    string // packages
	imports string
	tests   bool // also in the tests of these packages
	reason  string
}

const ( // what many refusals leave out
	libraryTests = " -notifier/notifiertest -sendlimit/sendlimittest/... -tasks/taskstest/... -tasks/worldtest -api/apitest"
	otherModules = " -bench/... -integration"
)

var refusals = []refusal{ //nolint:globals // a constant table
	{"lua/... internal/... sendlimit/...", "... -internal/... -lua/... -records/... -sendlimit/...", true, "lua and sendlimit are a library, on which the rest is built"},
	{"lua/... internal/... sendlimit/... -sendlimit/sendlimittest/...", "records/...", false, "limits know nothing of what is kept beside them"},
	{"records/...", "... -internal/... -lua/... -records/... -sendlimit/...", true, "records keeps what limits decide on, and knows nothing of queues or channels"},
	{"notifier/...", "... -notifier/... -sendlimit/calendar -sendlimit/sendlimittest/...", true, "notifier delivers, and knows nothing of limits, queues or the store"},
	{"notifier/...", "github.com/redis/... github.com/alicebob/...", true, "notifier knows nothing of Redis"},
	{"tasks/...", "... -internal/... -lua/... -message -notifier/... -records/... -sendlimit/... -tasks/...", true, "tasks stands on message, records, sendlimit, notifier and lua"},
	{"config/...", "... -config/... -notifier/... -records/... -sendlimit/...", true, "config knows neither tasks nor the programs"},
	{"... -integration", "integration", true, "nothing imports integration"},

	{"sendlimit/fault sendlimit/calendar sendlimit/keyspace sendlimit/policy", "context", false, "values need no context"},
	{"tasks/deliver", "records/notices", false, "deliver knows no outbox"},
	{"tasks/announce tasks/callbacks", "sendlimit records/messages", false, "alerts and events know no messages"},
	{"tasks/listen", "records/messages", false, "events know no messages"},
	{
		"tasks/backend tasks/listen tasks/queue tasks/relay tasks/rules tasks/submit" +
			" tasks/campaign tasks/deadletters tasks/device tasks/refit tasks/userdata",
		"notifier/...", false, "it delivers nothing",
	},
	{
		"... -notifier/... -config -cmd/worker/... -cmd/internal/channelcheck" +
			" -tasks -tasks/announce -tasks/callbacks -tasks/channels -tasks/contact -tasks/deliver -tasks/worldtest" + otherModules,
		"notifier/... -notifier/notice -notifier/payload", false, "only what delivers knows channels",
	},

	{"... -tasks/queue" + otherModules, "github.com/hibiken/asynq/...", false, "tasks/queue is the one importer of asynq"},
	{"... -tasks/..." + otherModules, "github.com/hibiken/asynq/...", true, "only tests of tasks look at what is queued"},
	{"... -tasks/internal/job" + otherModules, "github.com/robfig/cron/...", false, "tasks/internal/job reads schedules"},
	{
		"... -tasks/metrics -cmd/worker/internal/serve" + otherModules,
		"github.com/prometheus/...", false, "metrics are counted by tasks/metrics and served by the worker",
	},
	{"... -cmd/internal/store" + libraryTests + otherModules, "github.com/alicebob/...", false, "cmd/internal/store opens the embedded store"},

	// What ends up in a program has no test library in it.
	{
		"..." + libraryTests + otherModules,
		"notifier/notifiertest/... sendlimit/sendlimittest/... tasks/taskstest/... tasks/worldtest/... api/apitest/... github.com/anishathalye/... github.com/emersion/..." +
			" github.com/Shopify/... github.com/santhosh-tekuri/... github.com/stretchr/... go.uber.org/goleak/... pgregory.net/...",
		false, "it is for tests",
	},
	{"..." + libraryTests + otherModules, "log", false, "log/slog is the one logger"},
	{"sendlimit/sendlimittest/traffic", "sendlimit/sendlimittest/...", false, "traffic is what models judge, and knows none of them"},
	{
		"sendlimit/sendlimittest/story", "sendlimit/sendlimittest/... -sendlimit/sendlimittest/redistest",
		true, "story says what tests expect, and knows no model",
	},
}

func TestImportsPointDownwards(t *testing.T) {
	t.Parallel()
	packages := make(map[string]bool)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if b := entry.Name(); b != "." && b[0] == '.' || b == "testdata" || b == "node_modules" || name == "tools" || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("reading imports: %w", err)
		}
		from := path.Dir(filepath.ToSlash(name))
		test := strings.HasSuffix(name, "_test.go")
		if from != "." && !test {
			packages[from] = true
		}
		for _, spec := range file.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("reading imports: %w", err)
			}
			for _, wrong := range judge(from, to, test) {
				t.Errorf("%s: %s", name, wrong)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range packages {
		if floorOf(name) < 0 {
			t.Errorf("%s is a new package: add it to floors in layout_test.go, above all that it imports", name)
		}
	}
	for _, floor := range floors {
		for _, name := range floor {
			if !packages[name] {
				t.Errorf("there is no package %s: remove it from floors in layout_test.go", name)
			}
		}
	}
}

// Each kind of import that must not be is refused, and its neighbour is not.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, to string
		test     bool
		want     string // in the sentence; none if the import is fine
	}{
		{"records/events", "sendlimit/store", false, ""},
		{"sendlimit/store", "records/events", false, "imports point downwards"},
		{"tasks/relay", "tasks", false, "imports point downwards"},
		{"tasks/relay", "tasks/deliver", false, "imports point downwards"},
		{"tasks/relay", "tasks/taskstest", true, ""},
		{"api", "integration", false, "imports point downwards"},
		{"api", "nowhere", false, "nowhere is a new package"},

		{"records/events", "sendlimit/calendar", false, "not in the list of what records/events uses"},
		{"records/events", "sendlimit/calendar", true, ""},
		{"sendlimit/fault", redis, false, "not in the list of what sendlimit/fault uses"},
		{"records/events", redis, false, ""},
		{"sendlimit/fault", "fmt", false, ""},
		{"sendlimit/fault", "context", false, "values need no context"},
		{"sendlimit/store", "context", false, ""},

		{"sendlimit/rate", "message", true, "are a library"},
		{"sendlimit", "records/messages", false, "limits know nothing"},
		{"sendlimit", "records/messages", true, ""},
		{"records/events", "message", true, "records keeps"},
		{"notifier/fcm", "sendlimit/fault", true, "notifier delivers"},
		{"notifier/fcm", "sendlimit/sendlimittest", true, ""},
		{"notifier/fcm", redis, true, "notifier knows nothing of Redis"},
		{"notifier/fcm", "github.com/alicebob/miniredis/v2", true, "notifier knows nothing of Redis"},
		{"tasks/submit", "config", true, "tasks stands on"},
		{"tasks/submit", "notifier/notice", false, "it delivers nothing"},
		{"tasks/internal/batch", "notifier/notice", false, "imports point downwards"},
		{"tasks/channels", "notifier", false, ""},
		{"tasks/bulk", "notifier", false, "only what delivers knows channels"},
		{"cmd/enqueue/command", "notifier/payload", false, ""},
		{"cmd/enqueue/command", "notifier", false, "only what delivers knows channels"},
		{"tasks/deliver", "records/notices", false, "deliver knows no outbox"},
		{"tasks/listen", "records/messages", false, "know no messages"},

		{"tasks/queue", "github.com/hibiken/asynq", false, ""},
		{"tasks/deliver", "github.com/hibiken/asynq", false, "one importer of asynq"},
		{"tasks/deliver", "github.com/hibiken/asynq", true, ""},
		{"cmd/worker/command", "github.com/hibiken/asynq", true, "only tests of tasks"},
		{"tasks/announce", "github.com/robfig/cron/v3", false, "tasks/internal/job reads schedules"},
		{"tasks/deliver", "github.com/prometheus/client_golang/prometheus", false, "metrics are counted"},
		{"cmd/worker/internal/serve", "github.com/prometheus/client_golang/prometheus", false, ""},
		{"tasks/backend", "github.com/alicebob/miniredis/v2", false, "opens the embedded store"},
		{"cmd/internal/store", "github.com/alicebob/miniredis/v2", false, ""},
		{"tasks/deliver", "github.com/stretchr/testify/require", false, "it is for tests"},
		{"tasks/deliver", "github.com/stretchr/testify/require", true, ""},
		{"tasks/deliver", "pgregory.net/rapid", false, "it is for tests"},
		{"cmd/worker/command", "sendlimit/sendlimittest/story", false, "it is for tests"},
		{"tasks/deliver", "log", false, "one logger"},
		{"tasks/deliver", "log/slog", false, ""},
		{"sendlimit/sendlimittest/story", "sendlimit/sendlimittest/output", true, "knows no model"},
		{"sendlimit/sendlimittest/story", "sendlimit/sendlimittest/redistest", false, ""},
	} {
		to := row.to
		if first, _, _ := strings.Cut(to, "/"); isOurs(first) {
			to = module + "/" + to
		}
		got := strings.Join(judge(row.from, to, row.test), "; ")
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s imports %s: %q, not %q", row.from, row.to, got, row.want)
		}
	}
}

func isOurs(first string) bool {
	if first == "nowhere" {
		return true
	}
	for _, floor := range floors {
		for _, name := range floor {
			if ours, _, _ := strings.Cut(name, "/"); ours == first {
				return true
			}
		}
	}
	return false
}

// judge returns what is wrong about an import of a package, or of its tests.
func judge(from, to string, test bool) []string {
	to, ours := strings.CutPrefix(to, module+"/")
	if from == to {
		return nil
	}
	var wrong []string
	if ours && floorOf(to) < 0 {
		return []string{to + " is a new package: add it to floors in layout_test.go, above all that it imports"}
	}
	if ours && !test && floorOf(to) >= floorOf(from) {
		wrong = append(wrong, fmt.Sprintf("%s, on floor %d, imports %s, on floor %d: imports point downwards; move what both need to a lower package",
			from, floorOf(from), to, floorOf(to)))
	}
	first, _, _ := strings.Cut(to, "/")
	if list, ok := uses[from]; ok && !test && (ours || strings.Contains(first, ".")) && !matches(withTrees(list), to, ours) {
		wrong = append(wrong, fmt.Sprintf("%s is not in the list of what %s uses, in layout_test.go", to, from))
	}
	for _, r := range refusals {
		if (r.tests || !test) && matches(r.from, from, true) && matches(r.imports, to, ours) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", from, to, r.reason))
		}
	}
	return wrong
}

// withTrees lets each library in a list stand for all of its packages.
func withTrees(list string) string {
	words := strings.Fields(list)
	for i, w := range words {
		if first, _, _ := strings.Cut(w, "/"); strings.Contains(first, ".") {
			words[i] = w + "/..."
		}
	}
	return strings.Join(words, " ")
}

// matches reports whether a list, such as that of a refusal, has a path.
func matches(list, name string, ours bool) bool {
	in := false
	for word := range strings.FieldsSeq(list) {
		word, without := strings.CutPrefix(word, "-")
		tree, isTree := strings.CutSuffix(word, "/...")
		if word == "..." && ours || word == name || isTree && (name == tree || strings.HasPrefix(name, tree+"/")) {
			in = !without
		}
	}
	return in
}

// floorOf returns the floor of a package, from 0, or -1 if it is on none.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, name) })
}
