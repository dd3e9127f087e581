package command

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// messageLine is a submit that is accepted once.
func messageLine(user string, at time.Time) string {
	return `{"id":"one","user":"` + user + `","send_at":"` + at.UTC().Format(time.RFC3339Nano) + `","title":"t"}`
}

// post asks the API of a worker.
func (r *running) post(t *testing.T, path, contentType string, body io.Reader) (status int, header http.Header, answer io.Reader) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.attribute(t, "API endpoint", "url")+path, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", contentType)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.StatusCode, response.Header, response.Body
}

func TestTheAPIBesideDeliveries(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	require.Equal(t, http.StatusOK, get(t, worker.attribute(t, "API endpoint", "docs")).status)
	accepted, _, _ := worker.post(t, "messages", "application/json", strings.NewReader(messageLine("alice", time.Now().Add(time.Second))))
	require.Equal(t, http.StatusCreated, accepted)
	refused, _, _ := worker.post(t, "messages", "application/json",
		strings.NewReader(strings.Replace(messageLine("alice", time.Now().Add(2*time.Second)), "one", "two", 1)))
	require.Equal(t, http.StatusConflict, refused)
	require.Eventually(t, func() bool { return len(worker.stdout.lines(t)) == 1 }, time.Minute, 10*time.Millisecond)
	counted := series(t, worker.page(t, "metrics"))
	require.Equal(t, "1", counted[`sendlimit_submits_total{code="",outcome="accepted",rule=""}`])
	require.Equal(t, "1", counted[`sendlimit_submits_total{code="send_limit",outcome="refused",rule="1/minute"}`])
	require.NoError(t, worker.end(t))
}

// What the channels' settings do not allow is refused before there is anything to deliver.
func TestWhatNoChannelWouldDeliver(t *testing.T) {
	t.Parallel()
	worker := start(t, []string{"SENDLIMIT_WEBPUSH_HOSTS=push.example.com", "SENDLIMIT_APNS_TOPIC=com.example.shop"}).started(t)
	const keys = `"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}`
	for _, row := range []struct {
		path, body, allowed, refused, field string
	}{
		{
			"users/alice/devices", `{"channel":"webpush","subscription":{"endpoint":"https://push.X/1",` + keys + `}}`,
			"example.com", "example.net", "subscription",
		},
		{
			"messages", strings.Replace(messageLine("alice", time.Now().Add(time.Hour)), "{", `{"channels":{"apns":{"topic":"com.example.X"}},`, 1),
			"shop", "other", "channels.apns.topic",
		},
	} {
		status, _, answer := worker.post(t, row.path, "application/json", strings.NewReader(strings.Replace(row.body, "X", row.refused, 1)))
		text, err := io.ReadAll(answer)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnprocessableEntity, status, string(text))
		require.Contains(t, string(text), `"`+row.field+`"`)
		status, _, _ = worker.post(t, row.path, "application/json", strings.NewReader(strings.Replace(row.body, "X", row.allowed, 1)))
		require.Less(t, status, http.StatusMultipleChoices)
	}
}

// It needs no push target, and delivers nothing.
func TestTheAPIAlone(t *testing.T) {
	t.Parallel()
	pending := "asynq:{" + queue.Name("") + "}:pending"
	m, client, _ := elsewhere(t)
	worker := start(t, []string{"REDIS_URL=redis://" + m.Addr()}, "--deliver=false")
	url := worker.attribute(t, "API endpoint", "url")
	accepted, _, _ := worker.post(t, "messages", "application/json", strings.NewReader(messageLine("alice", time.Now())))
	require.Equal(t, http.StatusCreated, accepted)
	require.Eventually(t, func() bool {
		return client.LLen(t.Context(), pending).Val() == 1 // from where a worker would take it at once
	}, time.Minute, 10*time.Millisecond)

	client.ZAdd(t.Context(), "sl:{p0000}:deadnotices", redis.Z{Score: 1, Member: "daily_report/0/acme"})
	stats := get(t, url+"stats")
	require.Equal(t, http.StatusOK, stats.status)
	var told struct {
		Queue       map[string]int `json:"queue"`
		DeadLetters *int           `json:"dead_letters"`
		Alerts      int            `json:"failed_alerts"`
		Overdue     *float64       `json:"oldest_overdue_seconds"`
		Version     string         `json:"version"`
	}
	require.NoError(t, json.Unmarshal([]byte(stats.body), &told))
	require.Equal(t, 1, told.Queue["pending"])
	require.Zero(t, *told.DeadLetters)
	require.Equal(t, 1, told.Alerts)
	require.Zero(t, *told.Overdue)
	require.NotEmpty(t, told.Version)

	m.SetError("LOADING Redis is loading the dataset in memory")
	require.Eventually(t, func() bool { // an answer is kept for a while
		return get(t, url+"stats").status == http.StatusServiceUnavailable
	}, time.Minute, 50*time.Millisecond)
	m.SetError("")
	worker.notLogged(t, "delivering")
	require.NoError(t, worker.end(t))
	require.EqualValues(t, 1, client.LLen(t.Context(), pending).Val(), "nobody took it")
}

// A process that only relays needs no push target, and delivers nothing.
func TestTheRelayAlone(t *testing.T) {
	t.Parallel()
	m, _, _ := elsewhere(t)
	worker := start(t, []string{"REDIS_URL=redis://" + m.Addr()}, "--deliver=false", "--relay", "--listen", "off")
	worker.logged(t, "relaying")
	worker.notLogged(t, "delivering")
	worker.notLogged(t, "serving only the API")
	require.NoError(t, worker.end(t))
}

func TestTheAPIAloneOnTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--deliver=false")
	worker.logged(t, "its messages are delivered only once a worker that delivers has its address")
	require.NoError(t, worker.end(t))
}

func TestSettingsThatLeaveNothingToDo(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`error: deliver is false and listen is off: this worker would do nothing`: {
			"--deliver=false", "--listen", "off", "--redis-url", "redis://127.0.0.1:1",
		},
		`error: listen is off, and only the API of this worker could reach its embedded store: set listen, or redis_url`: {"--listen", "off"},
		`--drop-due-before requires deliver: true`: {"--deliver=false", "--drop-due-before", "-2h"},
		`--store-moved requires deliver: true`:     {"--deliver=false", "--store-moved"},
	} {
		status, said := refuses(t, nil, args...)
		require.Equal(t, cli.StatusInvalid, status)
		require.Contains(t, said, want)
	}
}

// While a delivery is finished, batches are ended and nothing new begins; the
// health endpoint answers to the end.
func TestTheAPIWhileTheWorkerStops(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, _, environ := elsewhere(t)
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	receiver.Script(notifiertest.Answer{Delay: 2 * time.Second})
	worker := start(t, environ, "--push-url", receiver.URL()).started(t)
	submitMessage(t, strings.TrimPrefix(environ[0], "REDIS_URL="), "alice", 0)

	body, lines := io.Pipe()
	defer lines.Close()
	go func() { _, _ = io.WriteString(lines, messageLine("bob", time.Now().Add(time.Hour))+"\n") }()
	_, _, answer := worker.post(t, "messages/batch", "application/x-ndjson", body)
	outcomes := json.NewDecoder(answer)
	var o message.Outcome
	require.NoError(t, outcomes.Decode(&o))
	require.Equal(t, message.Accepted, o.Outcome)
	require.Eventually(t, func() bool { return len(receiver.Requests()) == 1 }, time.Minute, 5*time.Millisecond)

	worker.stop()
	require.NoError(t, outcomes.Decode(&o))
	require.Equal(t, "this server stops: go on with line 2", o.Detail)
	require.Equal(t, 2, o.Line)
	require.ErrorIs(t, outcomes.Decode(&o), io.EOF)
	refused, header, _ := worker.post(t, "messages", "application/json", strings.NewReader(messageLine("carol", time.Now().Add(time.Hour))))
	require.Equal(t, http.StatusServiceUnavailable, refused)
	require.NotEmpty(t, header.Get("Retry-After"))
	require.NotEmpty(t, header.Get("X-Request-Id"))
	require.Equal(t, http.StatusOK, get(t, worker.attribute(t, "health endpoint", "url")).status)
	require.NoError(t, worker.result(t))
	require.Len(t, receiver.Requests(), 1)
	worker.logged(t, "stopped")
	worker.notLogged(t, "WARN")
}
