package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inputs are what people and other systems write, with what becomes of it: "accepted", or words of
// the refusal. DAY is a day in two months. A message of "user" and "send_at" is sent alone over the
// API, and as a line of CSV that the command line submits and the dashboard reads.
var inputs = []struct{ what, input, api, file string }{ //nolint:globals // a constant table
	{"user", "u9 ", "without a space at its ends", "accepted"}, // trimmed
	{"user", "u9\u00a0", "it has U+00A0", "it has U+00A0"},
	{"user", "\ufeffu9", "it has U+FEFF", "it has U+FEFF"},
	{"user", "u9\u200b", "it has U+200B", "it has U+200B"},
	{"user", "null", "accepted", "is what an export writes for a missing value"},
	{"user", "#N/A", "accepted", "is what an export writes for a missing value"},
	{"user", "[object Object]", "accepted", "is what an export writes for a missing value"},
	{"user", "{{user.id}}", "accepted", "has a variable that nothing was filled into"},
	{"user", "4.91701E+11", "accepted", "looks like a number that a spreadsheet shortened"},
	{"send_at", "DAYT11:00Z", "accepted", "accepted"},
	{"send_at", "DAYt11:00:00z", "accepted", "accepted"},
	{"send_at", "DAY 11:00:00+00:00", "accepted", "accepted"},
	{"send_at", "DAYT11:00:00+0000", "accepted", "accepted"},
	{"send_at", "DAYT11:00:00+24:00", "an offset from UTC of at most 23:59", "an offset from UTC of at most 23:59"},
	{"send_at", "DAYT11:00:00+23:60", "an offset from UTC of at most 23:59", "an offset from UTC of at most 23:59"},
	{"send_at", "1970-01-01T00:00:00Z", "1970-01-01 00:00:00 is in the past", "1970-01-01 00:00:00 is in the past"},
	{"send_at", "DAYT23:59:60Z", "seconds from 00 to 59", "seconds from 00 to 59"},
	{"send_at", "DAYT24:00:00Z", "00:00:00 of the next day", "00:00:00 of the next day"},
	{"send_at", "DAY 11:00", "a time with its zone", "a time with its zone"},
	{"time_zone", "W. Europe Standard Time", "write Europe/Berlin", ""},
	{"time_zone", "GMT+2", "write Etc/GMT-2, which has the opposite sign", ""},
	{"time_zone", "posix/Europe/Berlin", "an IANA time zone such as Europe/Berlin", ""},
	{"time_zone", "localtime", "an IANA time zone such as Europe/Berlin", ""},
	{"time_zone", "Europe/Berlin", "accepted", ""},
	{"locale", "en_US", "en-US", "en-US"},
	{"locale", "de-DE@euro", "de-DE", "de-DE"},
	{"token", "null", "what an app or an export writes for a missing one", "what an app or an export writes for a missing one"},
	{"token", "BLACKLISTED", "what an app or an export writes for a missing one", "what an app or an export writes for a missing one"},
	{"token", "ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "a token of Expo", "a token of Expo"},
	{"token", "https://fcm.googleapis.com/fcm/send/abc", "the endpoint of a browser", "the endpoint of a browser"},
	{"token", strings.Repeat("0f", 32), "a token of Apple's: use the channel apns", "a token of Apple's: use the channel apns"},
	{"csv", "\ufeffid;user;send_at;title\n1;u1;DAYT11:00:00Z;Hi\n", "", "accepted"},
	{"csv", "sep=\t\nid\tuser\tsend_at\ttitle\r\n1\tu1\tDAYT11:00:00Z\tHi\r\n", "", "accepted"},
	{"csv", "id,user,send_at,title\r1,u1,DAYT11:00:00Z,Hi\r", "", "accepted"},
	{"csv", "id,user,send_at,title\n1,u1,DAYT11:00:00Z,Hi\n,,,\n", "", "accepted"},
	{"csv", "ID,User,Send At,Title\n1,u1,DAYT11:00:00Z,Hi\n", "", "accepted"},
	{"csv", "id,user,send_at,title,score\n1,u1,DAYT11:00:00Z,Hi,7\n", "", `unknown column "score" in the header`},
	{"csv", "", "", "the file has no lines"},
	{"csv", "id,user,send_at,title\n", "", "the file has no lines"},
	{"csv", "PK\x03\x04\x14\x00", "", "Excel workbook"},
	{"csv", "<html><body>Sign in</body></html>", "", "the file is HTML or XML"},
	{"json", "{\"messages\":[{\"user\":\"u1\",\"send_at\":\"DAYT11:00:00Z\",\"title\":\"Hi\"}]}", "jq -c '.messages[]'", "jq -c '.messages[]'"},
	{"json", "{\n  \"user\": \"u1\",\n  \"send_at\": \"DAYT11:00:00Z\"\n}\n", "jq -c .", "jq -c ."},
	{"policy", "\ufeffrules: [1/minute]\n", "", "accepted"},
}

// inputTrial tries inputs on the programs.
type inputTrial struct {
	*testing.T

	programs programs
	environ  []string
	address  string
	folder   string
}

// asks sends a body to the worker, and returns the status and the answer.
func (i *inputTrial) asks(method, path, mediaType, body string) (int, string) {
	i.Helper()
	request, err := http.NewRequestWithContext(i.Context(), method, "http://"+i.address+path, strings.NewReader(body))
	require.NoError(i, err)
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(i, err)
	defer func() { require.NoError(i, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(i, err)
	return answer.StatusCode, string(text)
}

// of requires the words of an outcome.
func (i *inputTrial) of(want, text, how string) {
	i.Helper()
	if want == "accepted" {
		require.Contains(i, text, `"outcome":"accepted"`, how)
		return
	}
	quoted, err := json.Marshal(want)
	require.NoError(i, err)
	require.Contains(i, strings.ReplaceAll(text, `\u0026`, "&"), strings.Trim(string(quoted), `"`), how)
	require.NotContains(i, text, `"outcome":"accepted"`, how)
}

// file requires what becomes of a file, on the command line and on the page that plans a campaign.
func (i *inputTrial) file(text, want string, flags ...string) {
	i.Helper()
	path := filepath.Join(i.folder, "file")
	require.NoError(i, os.WriteFile(path, []byte(text), 0o600))
	got := i.programs.enqueue(i.T, i.environ, append([]string{"bulk", path, "--dry-run", "--json", "--results", "-"}, flags...)...)
	i.of(want, got.stdout+got.stderr, "bulk")
	_, read := i.asks(http.MethodPost, "/plan/read", "text/csv", text)
	var drafts bytes.Buffer
	for line := range strings.Lines(read) {
		var one struct{ Draft json.RawMessage }
		if json.Unmarshal([]byte(line), &one) == nil && one.Draft != nil {
			drafts.Write(append(one.Draft, '\n'))
		}
	}
	if drafts.Len() > 0 {
		_, read = i.asks(http.MethodPost, "/plan/judge", "application/x-ndjson", drafts.String())
	}
	if len(flags) == 0 {
		i.of(want, read, "plan")
	}
}

// Whatever people and exports write is read as it is meant, or refused with what to do, the same over
// the API, on the command line and on the dashboard.
func TestInputsOfOtherSystems(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	w := p.worker(t, nil, "--deliver=false")
	i := &inputTrial{T: t, programs: p, environ: w.environ(t), address: w.apiAddress(t), folder: t.TempDir()}
	day := time.Now().AddDate(0, 2, 0).Format(time.DateOnly)
	for n, row := range inputs {
		text := strings.ReplaceAll(row.input, "DAY", day)
		quoted := strconv.Quote(text)
		if encoded, err := json.Marshal(text); err == nil {
			quoted = string(encoded)
		}
		t.Log(row.what, quoted)
		user, at := "u"+strconv.Itoa(n), day+"T11:00:00Z"
		switch row.what {
		case "user", "send_at":
			message := map[string]string{"user": user, "send_at": at, "title": "Hi"}
			message[row.what] = text
			body, err := json.Marshal(message)
			require.NoError(t, err)
			_, got := i.asks(http.MethodPost, "/v1/messages", "application/json", "\ufeff"+string(body))
			i.of(row.api, got, "API")
			message["user"] += "f"
			if row.what == "user" {
				message["user"] = text
			}
			i.file("user,send_at,title\n\""+message["user"]+"\",\""+message["send_at"]+"\",Hi\n", row.file)
		case "time_zone":
			status, got := i.asks(http.MethodPatch, "/v1/users/"+user+"/settings", "application/json", `{"time_zone":`+quoted+`}`)
			set := p.workerCommand(t, i.environ, "user", "set", user, "--time-zone", text)
			if row.api == "accepted" {
				require.Equal(t, http.StatusOK, status, got)
				require.Zero(t, set.status, set.stderr)
				continue
			}
			i.of(row.api, got, "API")
			require.Contains(t, set.stderr, row.api)
			require.Contains(t, p.enqueue(t, i.environ, "push", "--user", user, "--title", "Hi", "--at", day+" 11:00", "--tz", text).stderr, row.api)
		case "locale", "token":
			device := map[string]string{"channel": "fcm", "token": "token-" + user, "locale": "de"}
			device[row.what] = text
			body, err := json.Marshal(device)
			require.NoError(t, err)
			_, got := i.asks(http.MethodPost, "/v1/users/"+user+"/devices", "application/json", string(body))
			require.Contains(t, got, row.api)
			path := filepath.Join(i.folder, "devices.csv")
			require.NoError(t, os.WriteFile(path, []byte("user,channel,token,locale\n"+user+",fcm,"+device["token"]+"2,"+device["locale"]+"\n"), 0o600))
			if row.what == "token" {
				require.NoError(t, os.WriteFile(path, []byte("user,channel,token\n"+user+",fcm,"+text+"\n"), 0o600))
			}
			imported := p.enqueue(t, i.environ, "device", "import", path)
			list := p.enqueue(t, i.environ, "device", "list", "--user", user, "--json")
			require.Contains(t, imported.stderr+list.stdout, row.file)
		case "csv":
			i.file(text, row.file)
		case "json":
			_, got := i.asks(http.MethodPost, "/v1/messages/batch", "application/x-ndjson", text)
			i.of(row.api, got, "API")
			i.file(text, row.file)
		case "policy":
			path := filepath.Join(i.folder, "policy.yaml")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.Zero(t, p.workerCommand(t, i.environ, "policy", "apply", path).status)
		default:
			t.Fatal(row.what)
		}
	}
	other := "id,external,user,send_at,title\n1,u1,x," + day + "T11:00:00Z,Hi\n"
	i.file(other, "accepted", "--other-columns", "ignore")
	i.file(other, "accepted", "--other-columns", "metadata", "--column", "user=external")
	i.file(other, "--column FIELD=COLUMN", "--allow-placeholders")
	i.file("user,send_at,title\nundefined,"+day+"T11:00:00Z,Hi\n", "accepted", "--allow-placeholders")
	require.Zero(t, p.enqueue(t, i.environ, "bulk", os.DevNull, "--allow-empty").status)
}
