package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// hostile are texts that have brought down parsers, paths, stores or logs.
func hostile() []string {
	return []string{
		"", "a", " ", "/", "%", "..", ".", "a/b/../c", "?", "#", "&a=b", "\x00", "\r\nX-Evil: 1", "\xff\xfe", "ünïcode", "日本語", "\u202e", "💥",
		"*", "{user}", "{p0042}", "sl:*", "'; DROP TABLE users", "${jndi:ldap://x}", "<script>alert(1)</script>", `"`, `\`,
		"now", "2026-11-22T11:11:11Z", "2026-11-22T11:11:11+01:00", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "-1",
		"1e308", "99999999999999999999", "0x10", "true", "null", "NaN",
		"eyJ0IjotMSwiaSI6ImEifQ", "eyJ0IjoxLCJpIjoiYSJ9", "eyJ0IjoxLCJpIjoiYSIsInUiOiJiIn0", "e30",
		strings.Repeat("a", 129), strings.Repeat("ü", 200), strings.Repeat("9", 5000),
	}
}

func hostileBodies() []string {
	return []string{
		"", "{", "null", "[]", "1", `"text"`, "{}", "\xff", "\x00", `{"user":null}`, `{"user":{}}`, `{"User":"alice"}`, `{"send_at":"now"}`,
		`{"user":"alice","send_at":"now","title":"Hi"}`, `{"user":"alice","user":"bob","send_at":"now","title":"Hi"}`,
		`{"user":"\ud800","send_at":"now","title":"Hi"}`, `{"user":"a\u0000b","send_at":"now","title":"Hi"}`,
		`{"user":"alice","send_at":"9999-12-31T23:59:59Z","title":"Hi"}`, `{"user":"alice","send_at":"0000-01-01T00:00:00Z","title":"Hi"}`,
		`{"user":"alice","send_at":"now","title":"Hi","on_conflict":"shift","shift_until":"9999-12-31T23:59:59Z"}`,
		`{"user":"alice","send_at":"now","title":"` + strings.Repeat("x", 5000) + `"}`,
		`{"user":"alice","send_at":"now","title":"Hi","data":{"a":null}}`, strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000),
		strings.Repeat("x", 70000), "{}\n{}\n\n{", `{"user":"alice","send_at":"now","title":"Hi"}` + "\r\n" + `{"user":"bob","send_at":"now","body":"Hi"}`,
	}
}

// hostileAccounts are bodies for requests that create and change accounts, keys and tiers.
func hostileAccounts() []string {
	bodies := []string{
		`{"name":null}`, `{"name":"a","name":"b"}`, `{"disabled":"yes"}`, `{"disabled":null}`, `{"scopes":null}`, `{"scopes":[]}`, `{"scopes":[1]}`,
		`{"scopes":["admin","admin"]}`, `{"scopes":["ADMIN"]}`, `{"scopes":["submit","read","admin",""]}`, `{"expires_at":"9999-12-31T23:59:59.999Z"}`,
		`{"expires_at":"0001-01-01T00:00:00Z"}`, `{"expires_at":"10000-01-01T00:00:00Z"}`, `{"expires_at":"never"}`,
		`{"overlap":"-1h"}`, `{"overlap":"1e9h"}`, `{"overlap":"9223372036854775808ns"}`, `{"overlap":"65535d9999999h"}`, `{"overlap":3600}`,
		`{"messages_per_day":9223372036854775807}`, `{"messages_per_day":9223372036854775808}`, `{"messages_per_day":1e400}`,
		`{"messages_per_day":1.5}`, `{"requests_per_minute":9007199254740993}`, `{"alert_at":null}`, `{"alert_at":[0]}`, `{"alert_at":[101]}`,
		`{"alert_at":[1e99]}`, `{"alert_at":[50,50]}`, `{"alert_at":{}}`, `{"tier":"","contact":"","time_zone":"","report_at":""}`,
		`{"scopes":[` + strings.Repeat(`"read",`, 5000) + `"read"]}`,
	}
	for _, field := range []string{"name", "tier", "contact", "time_zone", "report_at"} {
		for _, value := range slices.Concat(hostile(), []string{
			"a@b.example\r\nBcc: all@b.example", "https://127.0.0.1/", "https://[::1]:6379/", "https://169.254.169.254/latest", "https://user:pw@a.example/",
			"http://a.example", "https://a.example:99999/", "file:///etc/passwd", "a@[127.0.0.1]", "../../etc/passwd", "Local", "24:00", "08:00:00", "-1:00",
		}) {
			value, _ := json.Marshal(value)
			body := `{"name":"x","` + field + `":` + string(value) + `}`
			if field == "name" {
				body = `{"name":` + string(value) + `}`
			}
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// harmless requires that an answer is one that a healthy server may give.
func harmless(tb testing.TB, got *httptest.ResponseRecorder, asked string) {
	tb.Helper()
	if got.Code != http.StatusNotImplemented { // of an unknown method
		require.Less(tb, got.Code, 500, "%s: %s", asked, got.Body)
	}
	require.NotEmpty(tb, got.Header().Get("X-Request-Id"), asked)
	contentType := got.Header().Get("Content-Type")
	switch {
	case got.Code >= 400:
		require.Equal(tb, "application/problem+json", contentType, asked)
		var p api.Problem
		require.NoError(tb, json.Unmarshal(got.Body.Bytes(), &p), "%s: %s", asked, got.Body)
		require.Equal(tb, got.Code, p.Status, asked)
		require.NotEmpty(tb, p.Code, asked)
		require.NotEmpty(tb, p.Detail, asked)
		require.Less(tb, len(p.Detail), 2000, asked)
	case got.Code >= 300:
		require.Regexp(tb, `^/docs#problem-[a-z_]+$`, got.Header().Get("Location"), asked)
	case contentType == "application/x-ndjson":
		lines := strings.SplitSeq(strings.TrimSuffix(got.Body.String(), "\n"), "\n")
		for line := range lines {
			require.True(tb, line == "" || json.Valid([]byte(line)), "%s: %s", asked, line)
		}
	case strings.HasPrefix(contentType, "application/json"):
		require.True(tb, json.Valid(got.Body.Bytes()), "%s: %s", asked, got.Body)
	}
}

// FuzzOperations puts hostile names, queries, headers and bodies to each
// operation.
func FuzzOperations(f *testing.F) {
	sendlimittest.Long(f)
	all := operations()
	for i, o := range all {
		for _, text := range hostile() {
			if strings.Contains(o.path, "{") {
				f.Add(i, text, "a", "", "", o.body)
			}
			if strings.Contains(o.path, "{id}") || strings.Contains(o.path, "{key}") {
				f.Add(i, "alice", text, "", "", o.body)
			}
			if o.body != "" && o.path != policyPath+"/dry-run" { // which goes through the whole store
				f.Add(i, "alice", "a", "", text, o.body)
			}
			f.Add(i, "alice", "a", text, "", o.body)
			for _, name := range o.parameters {
				f.Add(i, "alice", "a", name+"="+url.QueryEscape(text), "", o.body)
			}
		}
		if o.body == "" {
			continue
		}
		bodies := hostileBodies()
		if scopeOf(o) == accounts.ScopeAdmin {
			bodies = slices.Concat(bodies, hostileAccounts())
		}
		for _, body := range bodies {
			f.Add(i, "alice", "a", "", "", body)
		}
	}
	r := newRig(f)
	booked(r)
	f.Fuzz(func(t *testing.T, operation int, user, id, query, header, body string) {
		o := all[uint(operation)%uint(len(all))]
		path := strings.NewReplacer(
			"{user}", encode(user), "{id}", encode(id), "{account}", encode(user), "{key}", encode(id), "{tier}", encode(user),
			"{policy}", encode(user), "{event}", encode(user),
		).Replace(o.path)
		q := httptest.NewRequestWithContext(t.Context(), o.method, path, strings.NewReader(body))
		q.URL.RawQuery = query
		q.Header.Set("Idempotency-Key", header)
		q.Header.Set("X-Request-Id", header)
		q.Header.Set("Content-Type", o.mediaType())
		got := httptest.NewRecorder()
		r.handler.ServeHTTP(got, q)
		harmless(t, got, fmt.Sprintf("%s %s?%s %q %q", o.method, path, query, header, body))
	})
}

// encode escapes every byte of a name, so that any is one segment of a path.
func encode(name string) string {
	var text strings.Builder
	for _, b := range []byte(name) {
		fmt.Fprintf(&text, "%%%02X", b)
	}
	return text.String()
}

// FuzzRequests puts hostile requests to the API: any that HTTP takes for one.
func FuzzRequests(f *testing.F) {
	sendlimittest.Long(f)
	for _, o := range operations() {
		for _, method := range []string{o.method, "OPTIONS", "HEAD", "CONNECT", "TRACE", "get", "!"} {
			f.Add(method+" "+o.target, "Content-Type: application/json", o.body)
			f.Add(method+" "+o.target, "Content-Type: application/x-ndjson; charset=x", o.body)
		}
		f.Add(o.method+" /"+o.target, "", "")
		f.Add(o.method+" "+o.target+"/", "", "")
		f.Add(o.method+" "+strings.ToUpper(o.target), "", "")
		f.Add(o.method+" http://evil.test"+o.target, "Origin: http://evil.test", o.body)
	}
	for _, target := range []string{
		"/", "//", "*", "/v1", "/v1/", "/v1/users//messages", "/v1/users/../messages/a", "/v1/users/%2e%2e/messages/a", "/v1/./stats",
		"/%76%31/stats", "/v1%2Fstats", "/docs", "/docs/", "/docs/docs.css", "/docs/docs.js", "/openapi.json", "/openapi.yaml", "/openapi", "/problems/send_limit", "/problems/x",
		"/problems/", "/problems/%2e%2e%2fx", "/v1/users/%/usage", "/v1/users/%zz/usage", "/v1/stats?a;b", "/v1/stats?%zz", "/v1/stats?a=b&a=c",
		"/v1/dead-letters?user=", "/v1/dead-letters?user=a&user=b", "http://[::1", "/\x7f", "/v1/users/alice/messages?from=%00",
	} {
		f.Add("GET "+target, "", "")
		f.Add("POST "+target, "Sec-Fetch-Site: cross-site", "{}")
	}
	for _, header := range []string{
		"Content-Type:", "Content-Type: ;", "Content-Type: application/json;;", "Content-Type: multipart/form-data",
		"Content-Encoding: gzip", "Origin: null", "Sec-Fetch-Site: x", "X-Request-Id: " + strings.Repeat("x", 500),
		"Idempotency-Key: a\r\nIdempotency-Key: b", `Idempotency-Key: "`, "Expect: 100-continue", "Transfer-Encoding: chunked", "Accept: text/plain;q=0",
		"Upgrade: websocket\r\nConnection: Upgrade", "Range: bytes=0-1", "Authorization: Bearer", "Authorization: Bearer sk_\xff", "Authorization: sk_a",
		"Authorization: Bearer " + strings.Repeat("k", 5000), "Authorization: Bearer a\r\nAuthorization: Bearer b", "X-Forwarded-For: , ,x",
		"X-HTTP-Method-Override: GET", "X-Original-URL: /docs", "Forwarded: for=127.0.0.1", "Cookie: key=sk_a", "Proxy-Authorization: Bearer sk_a",
	} {
		f.Add("POST /v1/messages", header, `{"user":"alice","send_at":"now","title":"Hi"}`)
	}
	r, closed := newRig(f), newRig(f, locked)
	booked(r)
	f.Fuzz(func(t *testing.T, line, header, body string) {
		text := fmt.Sprintf("%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n\r\n%s", line, len(body), header, body)
		for _, r := range []*rig{r, closed} {
			q, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
			if err != nil {
				t.Skip() // a server would not hand it on
			}
			path := q.URL.Path
			got := httptest.NewRecorder()
			r.handler.ServeHTTP(got, q.WithContext(t.Context()))
			harmless(t, got, text)
			if r == closed && got.Code < 400 {
				require.Regexp(t, `^/(docs(/docs\.(css|js))?|openapi\.(json|yaml)|problems/[a-z_]+)$`, path, "nothing else is for who has no key: %s", text)
			}
		}
	})
}
