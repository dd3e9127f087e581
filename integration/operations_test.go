package integration_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// commandsOfOperations are commands in their order, each with the operations that it asks for. A
// refusal is an answer too.
const commandsOfOperations = `
sendlimit push --user alice --id m1 --at +2h --title Hello             = submitMessage
sendlimit push --user alice --id m2 --at +3h --title Hello --dry-run   = checkMessage
sendlimit bulk FILE                                                    = submitBatch
sendlimit bulk FILE --dry-run                                          = checkBatch
sendlimit bulk SENT --record-sent                                      = recordSent
sendlimit status --user alice m1                                       = getMessage
sendlimit push --replace --user alice --id m1 --at +3h --title Hi      = putMessage
sendlimit move --user alice m1 --at +4h                                = moveMessage
sendlimit change --user alice m1 --title Hi                            = moveMessage
sendlimit cancel --user alice m1                                       = cancelMessage
sendlimit find b1                                                      = findMessage
sendlimit find --campaign spring                                       = findMessages
sendlimit list --user alice                                            = listMessages
sendlimit usage --user alice                                           = getUsage
sendlimit next-free --user alice                                       = getNextFree
sendlimit campaign count spring                                        = countCampaign
sendlimit campaign pause spring                                        = pauseCampaign
sendlimit campaign resume spring                                       = resumeCampaign
sendlimit campaign move spring --by 1h                                 = moveCampaign
sendlimit campaign cancel spring                                       = cancelCampaign
sendlimit campaign reopen spring                                       = reopenCampaign
sendlimit device add --user alice --id phone --channel fcm --app shop --token t = addDevice
sendlimit device list --user alice                                     = listDevices
sendlimit device remove --user alice phone                             = removeDevice
sendlimit events --follow=false                                        = followEvents
sendlimit-worker dead-letters list                                     = listDeadLetters
sendlimit-worker dead-letters list --alerts                            = listDeadAlerts
sendlimit-worker dead-letters show --user alice m1                     = getDeadLetter
sendlimit-worker dead-letters show --alert user_quota/1/80/alice       = getDeadAlert
sendlimit-worker dead-letters retry --user alice m1                    = retryDeadLetter
sendlimit-worker dead-letters retry --all --yes                        = retryDeadLetters
sendlimit-worker dead-letters retry --alert user_quota/1/80/alice      = retryDeadAlert
sendlimit-worker dead-letters purge --user alice m1                    = purgeDeadLetter
sendlimit-worker dead-letters purge --older-than 1h --yes              = purgeDeadLetters
sendlimit-worker dead-letters purge --alert user_quota/1/80/alice      = purgeDeadAlert
sendlimit-worker dead-letters purge --alerts --older-than 1h --yes     = purgeDeadAlerts
sendlimit-worker tier set free --messages-per-day 500                  = getTier setTier
sendlimit-worker tier show free                                        = getTier
sendlimit-worker tier list                                             = listTiers
sendlimit-worker account create acme --tier free                       = createAccount addAccountKey
sendlimit-worker account set acme --contact ops@acme.example           = changeAccount
sendlimit-worker account set acme --events https://acme.example/events = setCallback
sendlimit-worker account show acme                                     = getAccount
sendlimit-worker account rotate-events-secret acme                     = rotateCallbackSecret
sendlimit-worker account set acme --events none                        = removeCallback
sendlimit-worker account rotate-key acme                               = rotateAccountKey
sendlimit-worker account remove-key acme Zx3kQ9aB                      = removeAccountKey
sendlimit-worker account list                                          = listAccounts
sendlimit-worker account events list acme                              = listDeadEvents
sendlimit-worker account events retry acme                             = retryDeadEvents
sendlimit-worker account events purge acme                             = purgeDeadEvents
sendlimit-worker account sessions                                      = listSessions
sendlimit-worker account end-session 3fa91c02b7d86e54                  = endSession
sendlimit-worker account create beta --no-key                          = createAccount
sendlimit-worker tier remove free                                      = removeTier
sendlimit-worker policy list                                           = listPolicies
sendlimit-worker policy show default                                   = getPolicy
sendlimit-worker policy apply POLICY --dry-run                         = dryRunPolicy
sendlimit-worker policy apply POLICY --then shift                      = applyPolicy refitPolicy
sendlimit-worker policy versions vip                                   = listPolicyVersions
sendlimit-worker policy rollback vip --to 1                            = rollbackPolicy
sendlimit-worker policy delete vip                                     = deletePolicy
sendlimit-worker user set alice --time-zone Europe/Berlin              = changeUserSettings
sendlimit-worker user show alice                                       = getUserSettings
sendlimit-worker user list                                             = listUsers
sendlimit-worker user clear alice                                      = clearUserSettings
sendlimit-worker user export alice                                     = exportUser
sendlimit-worker user erase alice --yes                                = eraseUser
sendlimit-worker event-limit set submit --per-day 500                  = setEventLimits
sendlimit-worker event-limit show submit                               = getEventLimits
sendlimit-worker event-limit list                                      = listEventLimits
sendlimit-worker event-limit remove submit                             = removeEventLimits
sendlimit-worker pace set --rate 100/second                            = setPace
sendlimit-worker pace show                                             = getPace
sendlimit-worker pace clear                                            = clearPace
sendlimit-worker sending stop --reason maintenance                     = stopSending
sendlimit-worker sending status                                        = getSending
sendlimit-worker sending start                                         = startSending
sendlimit-worker channel list                                          = listChannels
sendlimit-worker channel resume fcm                                    = resumeChannel
sendlimit-worker audit                                                 = listAuditEntries
sendlimit-worker stats                                                 = getStats
`

// withoutCommand are the operations that no command asks for, with the reason.
func withoutCommand() map[string]string {
	return map[string]string{
		"showContent":     "it is for pages that show a message first without its content, as sendlimit status does not",
		"getOwnUsage":     "an operator has no account: sendlimit-worker account show names one",
		"getOverview":     "sendlimit-worker stats says what matters; the rest is for pictures",
		"getForecast":     "it is for pictures",
		"setUserSettings": "sendlimit-worker user set changes what its flags name, and leaves the rest",
	}
}

// withoutOperation are the commands that ask for none.
func withoutOperation() []string {
	return []string{
		"sendlimit-worker run", "sendlimit-worker check", "sendlimit-worker health", "sendlimit-worker email-preview", "sendlimit-worker channel check", "sendlimit-worker channel send-test", "sendlimit-worker channel keys",
		"sendlimit version", "sendlimit-worker version", "sendlimit campaign list", "sendlimit device import", "sendlimit-worker account enable", "sendlimit-worker account disable", "sendlimit-worker account add-key", // like their brothers
	}
}

// operationsAsked notes the operations that are asked for at an address, on the way there.
type operationsAsked struct {
	routes map[string]*regexp.Regexp // of all operations: their methods and paths

	mu    sync.Mutex
	asked map[string]bool
}

func (o *operationsAsked) note(r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, route := range o.routes {
		if route.MatchString(r.Method + " " + r.URL.EscapedPath()) {
			o.asked[id] = true
		}
	}
}

// missing returns which of some operations were never asked for.
func (o *operationsAsked) missing(ids []string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return o.asked[id] })
}

// routesOf returns the operations of a document.
func routesOf(t *testing.T, document []byte) map[string]*regexp.Regexp {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(document, &d))
	name := regexp.MustCompile(`\\\{[a-z]+\\\}`)
	routes := make(map[string]*regexp.Regexp)
	for path, methods := range d.Paths {
		for method, operation := range methods {
			routes[operation.ID] = regexp.MustCompile("^" + strings.ToUpper(method) + " " + name.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		}
	}
	require.NotEmpty(t, routes)
	return routes
}

// Each operation of the API has a method in the three clients, and a command that asks for it: over
// HTTP, and in its own process on a store, and prints the same. Each command asks for one.
func TestEachOperationEverywhere(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	address := p.worker(t, []string{"REDIS_URL=" + redistest.Shared(t).URL()}, "--deliver=false").apiAddress(t)
	asked := &operationsAsked{routes: routesOf(t, documentOf(t, address)), asked: map[string]bool{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: address}) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.note(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	folder := t.TempDir()
	paths := make([]string, 0, 6) // the words for files, and the files
	for name, text := range map[string]string{
		"FILE":   `{"id":"b1","user":"bob","send_at":"` + time.Now().Add(2*time.Hour).Format(time.RFC3339) + `","title":"Hello","campaign":"spring"}`,
		"SENT":   `{"id":"s1","user":"carol","send_at":"` + time.Now().Add(-time.Hour).Format(time.RFC3339) + `"}`,
		"POLICY": "name: vip\nrules: [2/calendar_day]",
	} {
		paths = append(paths, name, filepath.Join(folder, name))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o600))
	}
	commands := manualOf(t, p)
	for _, name := range withoutOperation() {
		require.Contains(t, commands, name)
		delete(commands, name)
	}
	var reached []string
	store := redistest.Shared(t)
	seedDefaultPolicy(t, store.Client())
	for line := range strings.Lines(strings.TrimSpace(commandsOfOperations)) {
		command, ids, _ := strings.Cut(strings.TrimSpace(line), " = ")
		args := strings.Fields(strings.NewReplacer(paths...).Replace(command))
		for name := range commands {
			if strings.HasPrefix(command, name+" ") {
				delete(commands, name)
			}
		}
		var onStore result
		var there sync.WaitGroup
		there.Go(func() { onStore = p.command(t, args[0], []string{"REDIS_URL=" + store.URL()}, args[1:]) })
		overHTTP := p.command(t, args[0], []string{"SENDLIMIT_API=" + server.URL}, args[1:])
		there.Wait()
		require.Empty(t, asked.missing(strings.Fields(ids)), "%s does not ask for them: %+v", command, overHTTP)
		require.Equal(t, overHTTP.status, onStore.status, "%s: over HTTP %+v, on a store %+v", command, overHTTP, onStore)
		if !slices.Contains([]string{"listAuditEntries", "listPolicyVersions", "exportUser"}, ids) { // they tell who ran commands on the store
			require.Equal(t, withoutChance(overHTTP.stdout+overHTTP.stderr), withoutChance(onStore.stdout+onStore.stderr), command)
		}
		reached = append(reached, strings.Fields(ids)...)
	}
	require.Empty(t, slices.Sorted(maps.Keys(commands)), "no line of commandsOfOperations has these commands")
	for id := range asked.routes {
		require.Equal(t, withoutCommand()[id] == "", slices.Contains(reached, id), "%s: a command asks for it, or withoutCommand says why none does", id)
		requireMethods(t, id)
	}
}

// withoutChance returns what a command printed, without what differs from one run to another: numbers,
// secrets, and the ids of keys.
func withoutChance(out string) string {
	return regexp.MustCompile(`sk_\S+|whsec_\S+|(- |key )[A-Za-z0-9]{8}\b|\(in [^)]*\)|[0-9]+(\.[0-9]+)?`).ReplaceAllString(out, "…")
}

// requireMethods requires that the three clients have an operation.
func requireMethods(t *testing.T, id string) {
	t.Helper()
	name := map[string]string{
		"submitMessage": "Submit", "checkMessage": "DryRun", "moveMessage": "Change", "putMessage": "Put", "checkBatch": "DryRunBatch",
	}[id]
	if name == "" {
		name = strings.TrimPrefix(id, "get")
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	_, has := reflect.TypeFor[*client.Client]().MethodByName(name)
	require.True(t, has, "the Go client has no %s", name)
	snake := regexp.MustCompile("[A-Z]").ReplaceAllStringFunc(id, func(letter string) string { return "_" + strings.ToLower(letter) })
	for pattern, method := range map[string]string{
		typescriptFolder + "/src/*.ts":   "\n  " + id + "(",
		pythonFolder + "/sendlimit/*.py": "\n    def " + snake + "(",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			return strings.Contains(string(text), method)
		}), "%s has no%q", pattern, method)
	}
}

// manualOf returns the manual pages of the commands of both programs that do something, by
// their names: "sendlimit-worker user erase".
func manualOf(t *testing.T, p programs) map[string]string {
	t.Helper()
	folder := t.TempDir()
	require.Zero(t, p.workerCommand(t, nil, "man", folder).status)
	require.Zero(t, p.enqueue(t, nil, "man", folder).status)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	commands := make(map[string]string)
	for _, page := range files {
		text, err := os.ReadFile(filepath.Join(folder, page.Name()))
		require.NoError(t, err)
		if name, found := synopsisOf(string(text)); found && !strings.Contains(name, " completion") {
			commands[name] = strings.ReplaceAll(string(text), `\-`, "-")
		}
	}
	for name := range maps.Clone(commands) { // a group does nothing
		if last := strings.LastIndex(name, " "); last > 0 {
			delete(commands, name[:last])
		}
	}
	require.NotEmpty(t, commands)
	return commands
}

// synopsisOf returns the name of the command that a manual page is about.
func synopsisOf(page string) (name string, found bool) {
	_, after, found := strings.Cut(page, "\n.SH SYNOPSIS\n")
	line, _, _ := strings.Cut(strings.TrimPrefix(after, ".PP\n"), "\n")
	line = strings.NewReplacer(`\fB`, "", `\fP`, "", `\-`, "-", `\ `, " ").Replace(line)
	var words []string
	for word := range strings.FieldsSeq(line) {
		if strings.ToLower(word) != word || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "-") {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), found
}
