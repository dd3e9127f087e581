package dashboard_test

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"
)

// browser asks the dashboard for pages, and keeps cookies. It follows no redirect.
type browser struct {
	*rig

	cookies map[string]string
	host    string
	tls     bool
}

func (r *rig) browser() *browser {
	return &browser{rig: r, cookies: make(map[string]string), host: "127.0.0.1:8080"}
}

// answer is what a browser got.
type answer struct {
	*rig

	status int
	header http.Header
	body   string
	set    []*http.Cookie
}

// script is the header of a request that a script sends.
func script() http.Header { return http.Header{"Accept": {"application/json"}} }

// get asks for a page, or a part of one with the header of a script.
func (b *browser) get(target string, header ...http.Header) answer {
	b.Helper()
	return b.ask(http.MethodGet, target, "", header...)
}

// post sends a form with fields and values in turn.
func (b *browser) post(target string, fields ...string) answer {
	b.Helper()
	return b.send(target, form(fields...))
}

// postScript sends a form as a script does.
func (b *browser) postScript(target string, fields ...string) answer {
	b.Helper()
	return b.send(target, form(fields...), script())
}

func (b *browser) send(target string, fields url.Values, header ...http.Header) answer {
	b.Helper()
	kind := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	return b.ask(http.MethodPost, target, fields.Encode(), append(header, kind)...)
}

// form returns fields and values in turn as a form. A field may come again.
func form(fields ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Add(fields[i], fields[i+1])
	}
	return values
}

// request returns a request of the browser with its cookies.
func (b *browser) request(method, target, body string, header ...http.Header) *http.Request {
	b.Helper()
	asked := httptest.NewRequestWithContext(b.Context(), method, target, strings.NewReader(body))
	asked.Host, asked.RemoteAddr = b.host, "127.0.0.1:40000"
	if b.tls {
		asked.TLS = &tls.ConnectionState{}
	}
	for _, more := range header {
		maps.Copy(asked.Header, more)
	}
	for name, value := range b.cookies {
		asked.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return asked
}

// ask sends a request, and keeps the cookies of the answer.
func (b *browser) ask(method, target, body string, header ...http.Header) answer {
	b.Helper()
	recorder := httptest.NewRecorder()
	b.pages.ServeHTTP(recorder, b.request(method, target, body, header...))
	got := recorder.Result()
	require.NoError(b, got.Body.Close())
	for _, cookie := range got.Cookies() {
		if cookie.MaxAge < 0 || cookie.Value == "" {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie.Value
		}
	}
	return answer{rig: b.rig, status: got.StatusCode, header: got.Header, body: recorder.Body.String(), set: got.Cookies()}
}

// shows requires a page, and returns its body.
func (b *browser) shows(target string) page {
	b.Helper()
	got := b.get(target)
	require.Equal(b, http.StatusOK, got.status, "%s: %s", target, got.body)
	return got.page()
}

// done requires that a change was made, and returns the sentence that the next page shows.
func (b *browser) done(got answer) string {
	b.Helper()
	require.Equal(b, http.StatusSeeOther, got.status, got.body)
	said, failed := b.said(got)
	require.False(b, failed, said)
	return said
}

// refused requires that a change was refused, and returns the sentence that the next page shows.
func (b *browser) refused(got answer) string {
	b.Helper()
	require.Equal(b, http.StatusSeeOther, got.status, got.body)
	said, failed := b.said(got)
	require.True(b, failed, said)
	return said
}

// said returns the sentence on the page that an answer leads to.
func (b *browser) said(got answer) (text string, failed bool) {
	b.Helper()
	shown := b.get(got.to()).page()
	said := shown.find("p", "role", "status")
	if len(said) == 0 || !hasClass(said[0], "said") {
		said = shown.find("p", "role", "alert")
		failed = true
	}
	require.NotEmpty(b, said, shown.text)
	return textOf(said[0]), failed
}

// asks requires the question whether something is to be done, and returns it with the fields of
// its form, which has to be complete.
func (b *browser) asks(got answer) (question string, fields url.Values) {
	b.Helper()
	require.Equal(b, http.StatusOK, got.status, got.body)
	shown := got.page()
	fields = url.Values{}
	for _, input := range shown.find("input", "type", "hidden") {
		fields.Add(attribute(input, "name"), attribute(input, "value"))
	}
	require.Equal(b, "yes", fields.Get("confirmed"), got.body)
	for _, p := range shown.all("p") {
		if strings.Contains(textOf(p), "?") {
			return textOf(p), fields
		}
	}
	require.Fail(b, "no question", got.body)
	return "", nil
}

// confirmed sends a form, requires that nothing is done before it is confirmed, and confirms it
// as the page does.
func (b *browser) confirmed(target string, fields ...string) (question string, got answer) {
	b.Helper()
	before := b.entries()
	question, all := b.asks(b.post(target, fields...))
	require.Equal(b, before, b.entries(), "nothing is done before it is confirmed")
	sent := form(fields...)
	sent.Set("confirmed", "yes")
	require.Equal(b, sent, all, "the question keeps all fields")
	return question, b.send(target, all)
}

// to returns where an answer leads.
func (a answer) to() string { return a.header.Get("Location") }

// json requires a JSON answer, and reads it.
func (a answer) json(status int) map[string]any {
	a.Helper()
	require.Equal(a, status, a.status, a.body)
	require.Equal(a, "application/json", a.header.Get("Content-Type"))
	require.Equal(a, "no-store", a.header.Get("Cache-Control"))
	var value map[string]any
	require.NoError(a, json.Unmarshal([]byte(a.body), &value), a.body)
	return value
}
