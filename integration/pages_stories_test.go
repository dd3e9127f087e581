package integration_test

import "testing"

// A worker is delivering; a server is listening.
const (
	delivering = `"msg":"delivering"`
	listening  = "listening on"
)

// pageStories says of every page with commands how these are run.
func pageStories(t *testing.T) map[string]commandsOf {
	t.Helper()
	const asOnThisMachine = "needs a machine of the reader's: "
	return map[string]commandsOf{
		"README.md": {
			serves: map[string]serving{"go run ./cmd/worker": {prints: delivering}},
			shown:  map[string]string{"make test": "it runs this test"},
		},
		"docs/quick-start.md": {
			serves: map[string]serving{
				"sendlimit-worker": {prints: delivering},
				"sendlimit-worker --redis-url redis://127.0.0.1:6379 --push-url log:": {prints: delivering},
			},
			shown: map[string]string{
				"make build": asOnThisMachine + "buildPrograms builds the same",
				"redis-server --bind 127.0.0.1 --dir /tmp --appendonly yes --maxmemory-policy noeviction": asOnThisMachine + "tests share a server",
				"docker compose up --detach --wait": asOnThisMachine + "TestCompose runs what is in the containers",
			},
			says: []string{
				"accepted", "the next free time after", "dinner", "scheduled", "- 1/minute",
				"refused: bob can't get a message at", "exit status 3", "accepted",
			},
		},
		"docs/api.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			says: []string{
				`{"outcome":"accepted","id":"table"`, `{"type":"/problems/send_limit"`, `{"id":"table","user":"alice","status":"scheduled"`,
				`{"times":[{"user":"alice","free_at":"`, `T11:12:11.000Z"}`, `{"outcome":"moved"`, `{"outcome":"cancelled"`,
				`{"outcome":"accepted","line":1`, `{"outcome":"refused","line":2`,
				`{"outcome":"dry_run"`, `{"old":`, `"version":2`, `{"outcome":"refitted"`, `"limits":["20/calendar_day"]`, `"time_zone":"Europe/Berlin"`,
			},
		},
		"docs/webhook.md": {
			serves: map[string]serving{
				"go run ./examples/receiver -listen 127.0.0.1:9000 -journal messages.jsonl":                {prints: listening, beside: true},
				"SENDLIMIT_PUSH_SECRET=$WEBHOOK_SECRET sendlimit-worker --push-url http://127.0.0.1:9000/": {prints: delivering},
			},
			shown: map[string]string{
				"python3 examples/receiver-python/receiver.py --listen 127.0.0.1:9000 --database messages.db": "TestReceivers runs both receivers; only one can listen here",
			},
			after: await("grep -q '\"title\":\"Hello\"' messages.jsonl"),
			says:  []string{"accepted"},
		},
		"docs/channels.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			shown: map[string]string{
				"sendlimit-worker --redis-url redis://127.0.0.1:6379 --fcm-credentials-file account.json": "needs the account of a Firebase project; TestChannels has a local one",
			},
			after: "! grep -q APA91b said # a token is a secret",
			says:  []string{"public key", "phone", "No channel has delivered", "webpush: accepted"},
		},
		"docs/policies.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			says: []string{
				"default: version 1 → 2\n",
				"  quiet_hours           none → 22:00-08:00 and sat,sun 00:00-10:00\n",
				"1/minute, 5/hour, 10/calendar_day; codes exempt and not counted; marketing 2/calendar_day",
				"  20/calendar_day  all messages, set for alice in place of 10/calendar_day\n",
				"  calendar periods in Asia/Kathmandu\n",
				"mallory is blocked: no message is accepted\n",
			},
		},
		"docs/say-when.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			says: []string{
				"set for alice: best hours such as Monday at 19:00\n", "accepted: alice gets a message at ", "  best free time from ",
			},
		},
		"docs/accounts.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			says: []string{
				"free", "acme", `"outcome":"accepted"`, "accepted  1\n", "operator", "support", "read", "submit", "whsec_", "0 dead alerts", "acme has used 80 %",
			},
		},
		"docs/operations.md": {
			serves: map[string]serving{
				"sendlimit-worker":                           {prints: delivering},
				"sendlimit-worker run --drop-due-before -2h": {prints: delivering},
				"sendlimit-worker run --store-moved":         {prints: delivering},
			},
			says: []string{
				"ok", "ready", "sendlimit_pending_messages", "pending message", "100/second over all workers, at most 20 at once", "no pace",
				"There are no dead letters.", "accepted", "Dinner?", "dora",
			},
		},
		"docs/restore.md": {
			serves: map[string]serving{
				"redis-server ./redis.conf":                  {prints: "Ready to accept connections", beside: true},
				"redis-server ./redis.conf --appendonly no":  {prints: "Ready to accept connections", stops: true},
				"sendlimit-worker":                           {prints: delivering},
				"sendlimit-worker run --drop-due-before -2h": {prints: delivering},
			},
			says: []string{"accepted", "\n1\n", "OK", "aof_last_bgrewrite_status:ok", "OK", "1\n", "scheduled"},
		},
		"docs/upgrading.md": {
			serves: map[string]serving{"REDIS_URL=redis://127.0.0.1:6379 sendlimit-worker --push-url log:": {prints: delivering}},
			says:   []string{"layout 1"},
		},
		"docs/migrating.md": {
			serves: map[string]serving{"sendlimit-worker --deliver=false": {prints: "API endpoint"}},
			after:  "grep -q '\"outcome\":\"refused\"' outcomes.ndjson",
			says:   []string{"recorded  2", "added      1", "accepted    1\n", "1/minute  1", "what if  now", "accepted          2    1", "accepted    1\n"},
		},
		"docs/performance.md": {
			serves: map[string]serving{"sendlimit-worker": {prints: delivering}},
			shown:  map[string]string{"make bench": "it takes twenty minutes"},
			says:   []string{"1,000 lines", "dry run"},
		},
		"examples/order-reminder/README.md": {
			serves: map[string]serving{
				"go run ./cmd/worker": {prints: delivering},
				"go run ./examples/order-reminder -listen 127.0.0.1:9100 -api http://127.0.0.1:8080": {prints: listening, beside: true},
			},
			shown: map[string]string{"API_KEY=$KEY go run ./examples/order-reminder -api https://sendlimit.example.com": asOnThisMachine + "TestOrderReminder has a key"},
			says: []string{
				`"status":"scheduled"`, `"status":"refused"`, `"next_free_at":"`, `T11:46:00Z"`, `"status":"scheduled"`, `T11:46:00Z"`,
				`"status":"scheduled"`, `T17:45:00Z"`, `"status":"moved"`,
			},
		},
	}
}

// await waits in a shell until a command succeeds, for up to 20 seconds. Then it fails.
func await(command string) string {
	return "tries=0; until " + command + " || [ $tries -ge 400 ]; do tries=$((tries+1)); sleep 0.05; done; [ $tries -lt 400 ]"
}
