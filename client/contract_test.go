package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

type contract struct {
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`

	compiler *jsonschema.Compiler
}

type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Name   string  `json:"name"`
		In     string  `json:"in"`
		Schema *schema `json:"schema"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]content `json:"content"`
	} `json:"responses"`

	at      string         // where the document has it, as a JSON pointer
	address *regexp.Regexp // of its requests, behind the method
}

type content struct {
	Schema *schema `json:"schema"`
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Format               string             `json:"format"`
	Properties           map[string]*schema `json:"properties"`
	Items                *schema            `json:"items"`
	AnyOf                []*schema          `json:"anyOf"`
	AdditionalProperties any                `json:"additionalProperties"`
	Examples             []any              `json:"examples"`
	Enum                 []any              `json:"enum"`
	Pattern              string             `json:"pattern"`
}

func (s *schema) values() *schema {
	text, _ := json.Marshal(s.AdditionalProperties)
	values := new(schema)
	_ = json.Unmarshal(text, values)
	return values
}

// readContract returns the document, and its operations by their ids.
func readContract(t *testing.T) (*contract, map[string]*operation) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, realAPIOf(t).server.URL+"/openapi.json", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := &contract{compiler: jsonschema.NewCompiler()}
	c.compiler.AssertFormat()
	require.NoError(t, c.compiler.AddResource(documentURL, document))
	require.NoError(t, json.Unmarshal(text, c))
	operations := make(map[string]*operation)
	for path, methods := range c.Paths {
		segments := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
		for method, o := range methods {
			o.at = "/paths/" + pointer(path) + "/" + method
			o.address = regexp.MustCompile("^" + strings.ToUpper(method) + " " + segments + "$")
			operations[o.ID] = o
		}
	}
	return c, operations
}

const documentURL = "https://api.test/openapi.json"

// pointer escapes a name for a JSON pointer in an address.
func pointer(name string) string {
	return strings.NewReplacer("/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// requireValid requires that a text fits a schema of the document. Of a parameter the text is
// a number or a truth value only if the schema says so.
func (c *contract) requireValid(t *testing.T, at, text string, parameter bool) {
	t.Helper()
	schema, err := c.compiler.Compile(documentURL + "#" + at + "/schema")
	require.NoError(t, err)
	var value any = text
	if !parameter || schema.Types.ToStrings()[0] != "string" {
		value, err = jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
	}
	require.NoError(t, schema.Validate(value), "%s: %s", at, text)
}

// sampler creates answers with every member.
type sampler struct {
	schemas map[string]*schema
	words   map[string]any  // what members have that the client goes by
	varied  string          // the member that has another value than usual, or is absent where it is no plain value
	members map[string]bool // those it has made: Usage.blocked
}

// sample is a value of a schema, as the value of a member.
func (s *sampler) sample(of *schema, member string) any {
	s.members[member] = true
	varied := s.varied == member
	switch name := strings.TrimPrefix(of.Ref, "#/components/schemas/"); {
	case varied && (of.Type == nil || of.Type == "array" || of.Type == "object"):
		return nil
	case name != "":
		object := make(map[string]any)
		for property, value := range s.schemas[name].Properties {
			if sample := s.sample(value, name+"."+property); sample != nil {
				object[property] = sample
			}
		}
		return object
	case len(of.AnyOf) > 0:
		return s.sample(of.AnyOf[0], member)
	case of.Items != nil:
		return []any{s.sample(of.Items, member)}
	}
	if of.Type == "object" {
		return map[string]any{"name": s.sample(of.values(), member)}
	}
	if word, some := s.words[member]; some && !varied {
		return word
	}
	switch {
	case of.Type == "boolean":
		return !varied
	case of.Type == "integer", of.Type == "number":
		return map[bool]int{false: 1, true: 2}[varied]
	case of.Format == "date-time":
		return map[bool]string{false: "2026-11-22T11:11:11.000Z", true: "2026-11-22T12:12:12.000Z"}[varied]
	default:
		return member + strconv.FormatBool(varied)
	}
}

func (s *sampler) answer(of content, mediaType string) string {
	parts := []*schema{of.Schema}
	if mediaType == ndjson && len(of.Schema.AnyOf) > 0 {
		parts = of.Schema.AnyOf
	}
	var body strings.Builder
	for _, part := range parts {
		text, _ := json.Marshal(s.sample(part, "answer"))
		fmt.Fprintf(&body, "%s\n", text)
	}
	return body.String()
}

// exchange is an API with one answer, but for a list's next page, which is empty.
type exchange struct {
	mediaType string
	status    int
	body      string
	requests  []*http.Request // with their bodies
}

func (e *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	sent := r.Clone(context.WithoutCancel(r.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(text))
	e.requests = append(e.requests, sent)
	body := e.body
	if r.URL.Query().Has("cursor") {
		body = "{}"
	}
	if r.URL.Query().Has("more") { // the end of a count
		members := make(map[string]any)
		if err := json.Unmarshal([]byte(e.body), &members); err != nil {
			return nil, err
		}
		delete(members, "more")
		last, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		body = string(last)
	}
	return &http.Response{
		StatusCode: e.status, Header: http.Header{"Content-Type": {e.mediaType}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// said is everything that a caller can see of a call: its results and its request.
func (e *exchange) said(t *testing.T, call func(context.Context, *client.Client) []any) []any {
	t.Helper()
	c, err := client.New("http://api.test", client.Options{HTTPClient: &http.Client{Transport: e}, Attempts: 1})
	require.NoError(t, err)
	said := call(t.Context(), c)
	for _, r := range e.requests {
		said = append(said, r.URL.String())
	}
	return said
}

// Every operation has a call, which tells its caller all that the API answers.
func TestWhatTheAPISaysReachesTheCaller(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	c, operations := readContract(t)
	calls := c.calls(t, operations)
	heard := make(map[string]bool) // by member
	for id, o := range operations {
		for status, response := range o.Responses {
			code, err := strconv.Atoi(status)
			for mediaType, is := range response.Content {
				if err != nil || code >= 300 && code != http.StatusConflict && code != http.StatusUnprocessableEntity {
					continue // as those two
				}
				s := &sampler{schemas: c.Components.Schemas, words: words(id, code), members: make(map[string]bool)}
				ask := func() []any {
					e := &exchange{mediaType: mediaType, status: code, body: s.answer(is, mediaType)}
					said := e.said(t, calls[id])
					for _, r := range e.requests {
						require.Regexp(t, o.address, r.Method+" "+r.URL.EscapedPath())
					}
					return said
				}
				usual := ask()
				for member := range maps.Clone(s.members) {
					s.varied = member
					heard[member] = heard[member] || !reflect.DeepEqual(usual, ask())
				}
			}
		}
	}
	maps.DeleteFunc(heard, func(_ string, was bool) bool { return was })
	require.ElementsMatch(t, slices.Collect(maps.Keys(unheard())), slices.Collect(maps.Keys(heard)))
}

// unheard are the members that callers are not told of, and why.
func unheard() map[string]string {
	return map[string]string{
		"Problem.type": "the code says it", "Problem.title": "the code says it", "Problem.status": "the kind of error says it",
		"Problem.instance": "the header X-Request-Id says it",
	}
}

// All inputs of an operation can be sent, and are sent in the form that it accepts.
func TestWhatTheAPITakesCanBeSent(t *testing.T) {
	t.Parallel()
	c, operations := readContract(t)
	calls := c.calls(t, operations)
	for id, o := range operations {
		s := &sampler{schemas: c.Components.Schemas, words: words(id, http.StatusOK), members: make(map[string]bool)}
		e := &exchange{status: http.StatusOK}
		for _, status := range []string{"200", "201"} {
			for mediaType, is := range o.Responses[status].Content {
				e.mediaType, e.body = mediaType, s.answer(is, mediaType)
			}
		}
		e.said(t, calls[id])
		sent := make(map[string]bool)
		for _, r := range e.requests {
			for name := range r.URL.Query() {
				sent["query "+name] = true
			}
			for name := range r.Header {
				sent["header "+name] = true
			}
			for i, p := range o.Parameters {
				for _, text := range append(r.URL.Query()[p.Name], r.Header[http.CanonicalHeaderKey(p.Name)]...) {
					c.requireValid(t, o.at+"/parameters/"+strconv.Itoa(i), text, true)
				}
			}
			for lines := json.NewDecoder(r.Body); lines.More(); {
				var line json.RawMessage
				require.NoError(t, lines.Decode(&line))
				c.requireValid(t, o.at+"/requestBody/content/"+pointer(r.Header.Get("Content-Type")), string(line), false)
				var members map[string]any
				require.NoError(t, json.Unmarshal(line, &members))
				for name := range members {
					sent["body "+name] = true
				}
			}
		}
		for _, p := range o.Parameters {
			if p.In != "path" && p.Name != "Idempotency-Key" { // which is the message's id
				require.True(t, sent[p.In+" "+p.Name], "%s: %s %s", id, p.In, p.Name)
			}
		}
		for _, taken := range o.RequestBody.Content {
			for _, of := range append(taken.Schema.AnyOf, taken.Schema) {
				if of.Ref == "" {
					continue // one of several
				}
				for name := range c.Components.Schemas[strings.TrimPrefix(of.Ref, "#/components/schemas/")].Properties {
					require.True(t, sent["body "+name], "%s: %s", id, name)
				}
			}
		}
	}
}

// An empty name would be another address, so nothing is sent.
func TestNamesThatAreMissing(t *testing.T) {
	t.Parallel()
	c, operations := readContract(t)
	api := serve(t, once(), func(http.ResponseWriter, *http.Request) { t.Error("a request") })
	missing := func(field string, said []any) {
		require.Len(t, said, 2, field)
		err, _ := said[1].(error)
		var wrong *client.InvalidError
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
	for id, o := range operations {
		for _, p := range o.Parameters {
			if p.In == "path" && id != "moveMessage" && id != "putMessage" {
				missing(p.Name, c.call(t.Context(), t, api, o, p.Name))
			}
		}
	}
	missing("user", told(api.Put(t.Context(), client.Message{ID: "a"})))
	missing("id", told(api.Put(t.Context(), client.Message{User: "alice"})))
	missing("user", told(api.Move(t.Context(), "", "a", time.Time{})))
	missing("id", told(api.Move(t.Context(), "alice", "", time.Time{})))
}
