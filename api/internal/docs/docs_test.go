package docs_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/internal/docs"
)

// source is a document with one operation that has a text in every place.
func source(text string, example json.RawMessage) docs.Source {
	field := &huma.Schema{
		Type: huma.TypeString, Description: text, Enum: []any{text}, Default: text, Pattern: text, Examples: []any{text},
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.Map()["Thing"] = &huma.Schema{
		Type: huma.TypeObject, Description: text, Properties: map[string]*huma.Schema{"member": field, text: field},
	}
	body := map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/Thing"}, Example: example},
	}
	o := &huma.Operation{
		OperationID: "changeThing", Method: http.MethodPut, Path: "/v1/things/{thing}", Tags: []string{"things"},
		Summary: text, Description: text,
		Parameters: []*huma.Param{
			{Name: "thing", In: "path", Required: true, Example: text, Description: text, Schema: field},
			{Name: "how", In: "query", Required: true, Example: text, Description: text, Schema: field},
		},
		RequestBody: &huma.RequestBody{Required: true, Content: body},
		Responses:   map[string]*huma.Response{"200": {Description: text, Content: body}},
	}
	return docs.Source{
		Document: &huma.OpenAPI{
			Info:       &huma.Info{Title: text, Version: text, Description: text},
			Tags:       []*huma.Tag{{Name: "things", Description: text}},
			Paths:      map[string]*huma.PathItem{"/v1/things/{thing}": {Put: o}},
			Components: &huma.Components{Schemas: registry},
		},
		Scopes:   map[string]string{"changeThing": "admin"},
		Problems: []docs.Problem{{Code: "broken", Title: text, Statuses: []int{409, 422}}, {Code: "too_broken", Title: text}},
	}
}

func page(t *testing.T, s docs.Source) string {
	t.Helper()
	text, err := docs.Page(s)
	require.NoError(t, err)
	return string(text)
}

// A text that looks like HTML, a script or a link to one is shown as it is.
func TestHostileTextsAreEscaped(t *testing.T) {
	t.Parallel()
	tag := regexp.MustCompile(`<[a-z/!][^>]*>`)
	harmless := tag.FindAllString(page(t, source("x", json.RawMessage(`{"a":"x"}`))), -1)
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</code></pre><script>alert(1)</script>`, `'-alert(1)-'`, `{{.Title}}`, `<!--`,
	} {
		example, err := json.Marshal(map[string]string{"a": text})
		require.NoError(t, err)
		got := page(t, source(text, example))
		require.Equal(t, harmless, tag.FindAllString(got, -1), "%s adds no tag", text)
	}
	for _, text := range []string{
		"[click](javascript:alert(1))", "[click](data:text/html,x)", "[click](//evil.example)", "[click](vbscript:x)", "`[click](`javascript:x)",
	} {
		got := page(t, source(text, json.RawMessage(`{}`)))
		require.NotRegexp(t, `href="(javascript|data:text|vbscript|//evil)`, got, text)
	}
}

func TestTheMarkdownOfDescriptions(t *testing.T) {
	t.Parallel()
	got := page(t, source("See changeThing, `a<b` and\n[the site](https://example.com/?a=b&c=d).\n\nThese:\n- one `x`\n- two\n\n"+
		"Either send_at is broken, `broken` or too_broken. notThis, and a ` stays.", nil))
	require.Contains(t, got, `<p>See <a href="#changeThing">changeThing</a>, <code>a&lt;b</code> and <a href="https://example.com/?a=b&amp;c=d">the site</a>.</p>`+
		`<p>These:</p><ul><li>one <code>x</code></li><li>two</li></ul>`+
		`<p>Either <code>send_at</code> is broken, <a href="#problem-broken"><code>broken</code></a> or `+
		`<a href="#problem-too_broken"><code>too_broken</code></a>. notThis, and a `+"`"+` stays.</p>`)
}

// A text with quotes stays one word of the shell, and a path one segment.
func TestTheQuotesOfAnExample(t *testing.T) {
	t.Parallel()
	got := page(t, source("it's a/b", json.RawMessage(`{"a":"it's"}`)))
	require.Contains(t, got, `curl -X PUT &#39;<span class="server">http://127.0.0.1:8080</span>/v1/things/it%27s%20a%2Fb?how=it%27s&#43;a%2Fb&#39; \
  -H &#34;Authorization: Bearer $SENDLIMIT_KEY&#34; \
  -H &#39;Content-Type: application/json&#39; \
  --data-binary &#39;{
    &#34;a&#34;: &#34;it&#39;\&#39;&#39;s&#34;
  }&#39;</code>`)
}
