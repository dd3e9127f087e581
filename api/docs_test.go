package api_test

import (
	"context"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

const (
	docsStyle  = "/docs/docs.css"
	docsScript = "/docs/docs.js"
)

// The page needs nothing but its own files, and shows every operation, schema and problem.
func TestTheDocumentationIsAPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.get("/docs")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "text/html; charset=utf-8", got.header.Get("Content-Type"))
	text := string(got.body)
	entries := docsEntries(text)
	require.Len(t, entries, len(operations()))
	c := readContract(r)
	for _, o := range operations() {
		id := c.Paths[o.path][strings.ToLower(o.method)].OperationID
		entry := entries[id]
		path := strings.ReplaceAll(strings.TrimPrefix(o.path, "/"), "/", "<wbr>/")
		require.Contains(t, entry, `<span class="method `+o.method+`">`+o.method+`</span> <code class="path">/`+path+`</code>`)
		require.Contains(t, entry, "<p class=\"scope\">Requires the scope <code>"+string(scopeOf(o))+"</code>.</p>", id)
		require.Contains(t, entry, `<code class="curl">curl `, id)
		require.Contains(t, entry, `<pre tabindex="0"`, id)
		require.Equal(t, 1, strings.Count(entry, "Requires the scope"), "said once of %s", id)
		for _, p := range o.parameters {
			require.Contains(t, entry, `<th scope="row"><code>`+p+`</code>`, id)
		}
	}
	for _, schema := range []string{"Draft", "Outcome", "Problem", "Usage", "Stats"} {
		require.Contains(t, text, `<details class="entry schema" id="schema-`+schema+`">`)
	}
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1)
	seen := make(map[string]bool)
	for _, id := range ids {
		require.False(t, seen[id[1]], "%s is there twice", id[1])
		seen[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(text, -1) {
		require.True(t, seen[link[1]], link[1])
	}
	require.Contains(t, text, "Every answer of an operation has an <code>X-Request-Id</code>")
	require.Contains(t, text, `<a href="#rotateAccountKey">rotateAccountKey</a>`, "an operation that a text names")
	require.Contains(t, text, `<code>quota_exceeded</code><span class="type">409, 429</span>`)
	require.Contains(t, text, `<code>invalid_field</code><span class="type">400, 413, 415, 422</span>`)
	prose := regexp.MustCompile(`(?s)<pre.*?</pre>|<p class="facts">.*?</p>`).ReplaceAllString(text, "")
	require.NotContains(t, prose, "`", "what is between backticks is code")
}

// The page shows the constraints of a value: all words of a closed set, the default, and the
// bounds.
func TestTheDocumentationShowsWhatAValueMayBe(t *testing.T) {
	t.Parallel()
	text := string(newRig(t).get("/docs").body)
	entries := docsEntries(text)
	require.Contains(t, entries["refitPolicy"], "One of <code>shift</code>, <code>cancel</code>")
	require.Contains(t, entries["findMessages"], "One of <code>scheduled</code>, <code>postponed</code>, <code>moved</code>, <code>sending</code>, ")
	require.Contains(t, entries["findMessages"], "Default <code>100</code> · 1 to 1000")
	require.Contains(t, entries["getAccount"], "Pattern <code>^([a-z0-9_-]{1,64})$</code>")
	require.Contains(t, entries["getMessage"], "At most 256 characters")
	_, draft, _ := strings.Cut(text, `id="schema-Draft"`)
	draft, _, _ = strings.Cut(draft, "</details>")
	require.Contains(t, draft, "One of <code>refuse</code>, <code>shift</code></p>", "an empty text and null stand for none")
	require.Contains(t, draft, "Names: one of <code>fcm</code>, <code>apns</code>, <code>webpush</code>")
	require.Contains(t, draft, "0 to 2147483647")
	require.Contains(t, draft, `<code>user</code> <span class="required">required</span>`)
	require.Contains(t, text, `One of the <a href="#problems">problem codes</a>`)
	var document any
	require.NoError(t, json.Unmarshal(newRig(t).document(), &document))
	for word := range enumsOf(document) {
		require.Contains(t, text, "<code>"+html.EscapeString(word)+"</code>")
	}
}

// enumsOf returns all words of closed sets in a document.
func enumsOf(value any) map[string]bool {
	all := make(map[string]bool)
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			maps.Copy(all, enumsOf(one))
		}
	case map[string]any:
		for name, one := range value {
			maps.Copy(all, enumsOf(one))
			words, list := one.([]any)
			if name != "enum" || !list {
				continue
			}
			for _, word := range words {
				if text, is := word.(string); is && text != "" {
					all[text] = true
				}
			}
		}
	}
	return all
}

// Nothing of the page is inline, so its policy allows nothing inline. Its files are its own.
func TestTheDocumentationHasAStrictPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.get("/docs")
	require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", got.header.Get("Content-Security-Policy"))
	text := string(got.body)
	tags := strings.Join(regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(text, -1), "\n")
	require.NotRegexp(t, `(?i)\son[a-z]+\s*=|\sstyle\s*=|<style|javascript:`, tags)
	require.Equal(t, 1, strings.Count(tags, "<script"))
	require.NotRegexp(t, `(?:src|href)="(?:https?:)?//`, tags)
	for path, contentType := range map[string]string{
		docsStyle: "text/css; charset=utf-8", docsScript: "text/javascript; charset=utf-8",
	} {
		address := regexp.MustCompile(`"(` + regexp.QuoteMeta(path[1:]) + `\?v=[0-9a-f]{12})"`).FindStringSubmatch(text)
		require.NotNil(t, address, path)
		file := r.get("/" + address[1]) // a relative link, from /docs
		require.Equal(t, http.StatusOK, file.status)
		require.Equal(t, contentType, file.header.Get("Content-Type"))
		require.Equal(t, "nosniff", file.header.Get("X-Content-Type-Options"))
		require.Less(t, len(file.body), 8<<10, path)
	}
}

// Every example of the page is a request that the server understands, with a key and
// without.
func TestTheExamplesOfTheDocumentation(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	// There is nothing of the kind.
	absent := []string{
		"endSession", "rotateAccountKey", "removeAccountKey", // the ids of keys are random
		"getDeadAlert", "retryDeadAlert", "purgeDeadAlert", "getDeadLetter", "retryDeadLetter", "purgeDeadLetter",
	}
	for name, keys := range map[string]bool{"with a key": true, "without a key": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *api.Options) { o.RequireKeys = keys })
			absent := absent
			if !keys {
				absent = append(slices.Clone(absent), "getOwnUsage") // nobody's
			}
			secret := r.key("caller", accounts.ScopeAdmin, accounts.ScopeContent, accounts.ScopeSubmit, accounts.ScopeRead)
			entries := docsEntries(string(r.get("/docs").body))
			for _, id := range inOrder(t, entries) {
				q := exampleOf(t, entries[id])
				require.Equal(t, "Bearer $SENDLIMIT_KEY", q.header.Get("Authorization"), id)
				q.header.Del("Authorization")
				if keys {
					q.use(secret)
				}
				got := r.try(q)
				if got.status < http.StatusMultipleChoices {
					require.NotContains(t, absent, id, "it succeeds")
					continue
				}
				require.Contains(t, absent, id, string(got.body))
				require.Equal(t, fault.CodeNotFound, r.problem(http.StatusNotFound, got).Code, id)
			}
			require.NotContains(t, r.log.String(), `route=""`, "an address that is none")
		})
	}
}

// inOrder returns the ids of the entries. Operations that create something come first, and those
// that remove it last.
func inOrder(tb testing.TB, entries map[string]string) []string {
	tb.Helper()
	order := []string{http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodGet, http.MethodDelete}
	turn := func(id string) int {
		switch id {
		case "createAccount":
			return -1
		case "eraseUser":
			return len(order)
		case "pauseCampaign": // once it has messages
			return slices.Index(order, http.MethodPatch)
		case "cancelCampaign":
			return slices.Index(order, http.MethodDelete)
		}
		return slices.Index(order, exampleOf(tb, entries[id]).method)
	}
	ids := slices.Sorted(maps.Keys(entries))
	slices.SortStableFunc(ids, func(a, b string) int { return turn(a) - turn(b) })
	return ids
}

// A server that asks for no key leaves the header out if there is none. A shell takes the
// header from its variable.
func TestTheKeyOfTheExamples(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for required, header := range map[bool]string{
		true: `-H "Authorization: Bearer $SENDLIMIT_KEY"`, false: `-H "${SENDLIMIT_KEY:+Authorization: Bearer $SENDLIMIT_KEY}"`,
	} {
		r := newRig(t, func(o *api.Options) { o.RequireKeys = required })
		entry := docsEntries(string(r.get("/docs").body))["getStats"]
		require.Contains(t, html.UnescapeString(entry), header)
	}
}

// try sends a request, and reads the answer for a second, since some have no end.
func (r *rig) try(q request) reply {
	r.Helper()
	if !strings.HasPrefix(q.target, "/v1/events") {
		return r.send(q)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	sent, err := http.NewRequestWithContext(ctx, q.method, r.url+q.target, http.NoBody)
	require.NoError(r, err)
	sent.Header = q.header
	got, err := r.http.Do(sent)
	require.NoError(r, err)
	require.NoError(r, got.Body.Close())
	return reply{status: got.StatusCode, header: got.Header}
}

// docsEntries returns the entries of the operations on the page, by their ids.
func docsEntries(page string) map[string]string {
	entries := make(map[string]string)
	for _, part := range strings.Split(page, `<details class="entry operation" id="`)[1:] {
		id, entry, _ := strings.Cut(part, `"`)
		if strings.HasPrefix(id, "webhook-") {
			continue
		}
		entry, _, _ = strings.Cut(entry, "\n</div>\n</details>\n")
		entries[id] = entry
	}
	return entries
}

// exampleOf reads the command of an entry as a shell and curl would.
func exampleOf(tb testing.TB, entry string) request {
	tb.Helper()
	_, code, _ := strings.Cut(entry, `<code class="curl">`)
	code, _, found := strings.Cut(code, "</code>")
	require.True(tb, found, entry)
	words := shellWords(tb, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(code, "")))
	require.Equal(tb, "curl", words[0])
	q := request{method: http.MethodGet, header: make(http.Header)}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-N":
		case "-X":
			i++
			q.method = words[i]
		case "-H":
			i++
			header := strings.TrimSuffix(strings.TrimPrefix(words[i], "${SENDLIMIT_KEY:+"), "}")
			name, value, found := strings.Cut(header, ": ")
			require.True(tb, found, words[i])
			q.header.Set(name, value)
		case "--data-binary":
			i++
			q.body = words[i]
		default:
			target, err := url.Parse(words[i])
			require.NoError(tb, err)
			require.Equal(tb, "127.0.0.1:8080", target.Host)
			q.target = target.RequestURI()
		}
	}
	return q
}

// shellWords divides a command at its blanks, as a shell does. Variables stay.
func shellWords(tb testing.TB, command string) []string {
	tb.Helper()
	var words []string
	var word strings.Builder
	started, quote := false, rune(0)
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	escaped := false
	for _, c := range command {
		switch {
		case escaped:
			escaped = false
			if c != '\n' {
				word.WriteRune(c)
				started = true
			}
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\n':
			end()
		default:
			word.WriteRune(c)
			started = true
		}
	}
	require.Zero(tb, quote, "a quote is open: %s", command)
	end()
	return words
}
