package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// values are those that members are tried with: of every type, at every bound, and beside
// it.
func values() []any {
	text := strings.Repeat
	all := []any{
		nil, true, false, -1, 0, 1, 100, 101, 1_000_000_000, 1_000_000_001, 0.5,
		[]any{},
		map[string]any{},
		"", "a", "A", "a b", "tab\t", "\u0085", "ünïcode", "💥", "a.b:c_d-e", "a/b", "\n", "a\n", "now", "NOW",
		text("a", 64), text("a", 65), text("a", keyspace.MaxID), text("a", keyspace.MaxID+1), text("a", keyspace.MaxUser), text("a", keyspace.MaxUser+1),
		text("ü", keyspace.MaxUser/2), text("ü", keyspace.MaxUser/2+1), text("a", message.MaxContent-10), text("a", message.MaxContent+1),
		on22("18:00:00"), on22("18:00:00.123456789"), "2026-11-22T20:00:00+01:00", "2026-11-22T18:00Z", "2026-11-22", "2026-11-22t18:00:00z",
		"2026-11-22 18:00:00Z", "9999-12-31T23:59:59Z", "12026-11-22T18:00:00Z", "2026-11-22T18:00:00,5Z",
		"refuse", "shift", "allow", "Refuse", "default", "vip", "free",
		"ops@acme.example", "https://acme.example/alerts?a=b", "HTTPS://acme.example", "http://acme.example", "acme.example", "a@b@c", "a b@acme.example",
		"https://acme.example/" + text("a", 2027), "https://acme.example/" + text("a", 2028),
		"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Mars/Olympus Mons", "Local",
		"100/second", "6000/minute", "20/500ms", "100000/31h", "100001/second", "100/week",
		"08:00", "23:59", "24:00", "8:00", "08:60", "1s", "366d", "367d", "36h", "1h30m", "1.5h", "+90m", "60000000µs", "30 d", "-1h", "d",
		[]any{"5/hour"},
		[]any{"5/hour", "5/hour"},
		[]any{"5/hour", "10/calendar_day"},
		[]any{"5/hourly"},
		[]any{nil},
		[]any{1},
		[]any{"22:00-08:00"},
		[]any{"mon-fri 22:00-07:30"},
		[]any{"22-8"},
		[]any{80, 100},
		[]any{80, 80},
		[]any{100, 80},
		[]any{0},
		[]any{101},
		[]any{"submit"},
		[]any{"submit", "read", "admin"},
		[]any{"root"},
		[]any{"read", "read"},
		"https://a/b", "myapp://a", "javascript:alert(1)", "https://a/" + text("a", message.MaxURL-10), "https://a/" + text("a", message.MaxURL-9),
		"high", "normal", text("ü", message.MaxSound), text("ü", message.MaxSound+1), message.MaxBadge, message.MaxBadge + 1,
		map[string]any{"fcm": map[string]any{"a": 1}, "apns": map[string]any{}},
		map[string]any{"fcm": nil},
		map[string]any{"fcm": "a"},
		map[string]any{"fcm": map[string]any{"a": text("a", message.MaxOverride)}},
		map[string]any{"sms": map[string]any{}},
		map[string]any{"channel": "webhook", "app": "a", "device": nil},
		map[string]any{"channel": "sms"},
		map[string]any{"device": "a b"},
		map[string]any{"from": "now", "until": "2040-01-01T00:00:00Z", "prefer": "nearest"},
		map[string]any{"until": "now"},
		map[string]any{"user": "bob"},
		map[string]any{"k": "v", "": ""},
		map[string]any{"k": 1},
		map[string]any{"k": nil},
		map[string]any{"k": text("a", message.MaxContent-10)},
		map[string]any{"k": text("a", message.MaxContent+1)},
		map[string]any{"c": map[string]any{"rules": []any{"5/hour"}, "exempt": nil, "counts": nil}},
		map[string]any{"c": map[string]any{"exempt": true, "rules": nil, "counts": false}},
		map[string]any{"c": map[string]any{"exempt": true, "rules": []any{}}},
		map[string]any{"c": nil},
		map[string]any{"c": map[string]any{"when": 1}},
		map[string]any{"C": map[string]any{"exempt": true}},
	}
	all = append(all, "fcm", "pt-BR")
	for _, rule := range []string{
		"1/1s", "1000/366d", "1001/minute", "1/367d", "0/minute", "01/minute", "5/90s", "5/1.5h", "5/+1h30m", "5/007d", "5/60000000µs", "5/day", "5/week",
		"5/calendar_minute", "5/calendar_hour", "5/calendar_week", "5/calendar_month", "5/calendar_year", "5/", "/hour", "5/hour ",
	} {
		all = append(all, []any{rule})
	}
	for _, n := range []int{50, 51} {
		rules, hours := make([]any, n), make([]any, n)
		for i := range n {
			rules[i], hours[i] = fmt.Sprintf("5/%ds", i+1), fmt.Sprintf("22:%02d-23:59", i)
		}
		all = append(all, rules, hours)
	}
	for _, n := range []int{100, 101} {
		categories := make(map[string]any, n)
		for i := range n {
			categories[fmt.Sprint("c", i)] = map[string]any{"exempt": true}
		}
		all = append(all, categories)
	}
	return all
}

// A schema of a request refuses no value that the server accepts. Of every member it
// refuses some value of the right type, as the server does.
func TestBoundsAreTheServers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	acme(r)
	booked(r)
	vip(r)
	c := readContract(r)
	tried, outcomes := make(map[string]bool), make(outcomes)
	for _, o := range operations() {
		if o.body == "" || o.ofLines() {
			continue
		}
		schema, members := c.requestSchema(t, o)
		if tried[schema.Location] {
			continue
		}
		tried[schema.Location] = true
		for _, member := range members {
			takes, refused := outcomes.try(t, c.bounds(t, member, schema.Properties[member].Location), values(), func(value any) error {
				return c.valid(t, schema, withMember(t, o.body, member, value))
			}, func(value any) (string, bool) {
				q := o.request()
				q.body = withMember(t, o.body, member, value)
				return fmt.Sprintf("%s %s with %s", o.method, o.path, q.body), r.accepts(t, q, member)
			})
			accepted := make(map[reflect.Type]bool)
			for _, value := range takes {
				accepted[reflect.TypeOf(value)] = true
			}
			delete(accepted, nil)
			require.NotEmpty(t, accepted, "%s of %s %s", member, o.method, o.path)
			if accepted[reflect.TypeFor[bool]()] || member == "version" { // which the server ignores
				continue
			}
			sameType := func(value any) bool { return accepted[reflect.TypeOf(value)] }
			require.True(t, slices.ContainsFunc(refused, sameType), "%s of %s %s has no bounds", member, o.method, o.path)
		}
	}
	require.GreaterOrEqual(t, len(tried), 9)
}

// outcomes are, for each schema that was tried with all values, the first and the last value with each
// outcome.
type outcomes map[string][]any

// try tries values. The schema must accept all that the server accepts. Where the same schema was tried
// before, two values with each outcome show whether the server has the bounds here too. try returns the
// values that the server accepts, and those that both refuse.
func (o outcomes) try(
	t *testing.T, schema string, values []any, refuses func(value any) error, accepts func(value any) (what string, accepted bool),
) (accepted, refused []any) {
	t.Helper()
	known, again := o[schema]
	if again {
		values = known
	}
	seen := make(map[string][]any)
	for _, value := range values {
		refusal := refuses(value)
		why := reason(refusal)
		outcome := fmt.Sprintf("%s %T", why, value)
		if why == "type" && seen[outcome] != nil { // a value of this type has been refused
			continue
		}
		what, takes := accepts(value)
		if takes {
			require.NoError(t, refusal, what)
			accepted = append(accepted, value)
		} else if refusal != nil {
			refused = append(refused, value)
		}
		if takes == (refusal == nil) { // else the server has another reason to refuse it
			seen[outcome] = append(seen[outcome], value)
		}
	}
	if !again {
		for _, alike := range seen {
			known = append(known, alike[0], alike[len(alike)-1])
		}
		o[schema] = known
	}
	return accepted, refused
}

// reason returns the keywords that refuse a value; "" if none does.
func reason(refusal error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(refusal, &invalid) {
		return ""
	}
	if len(invalid.Causes) == 0 {
		return strings.Join(invalid.ErrorKind.KeywordPath(), " ")
	}
	var keywords []string
	for _, cause := range invalid.Causes {
		keywords = append(keywords, reason(cause))
	}
	slices.Sort(keywords)
	return strings.Join(slices.Compact(keywords), " ")
}

// bounds returns the text of the schema at a location, without what describes it, and its name.
func (c *contract) bounds(t *testing.T, name, location string) string {
	t.Helper()
	_, at, _ := strings.Cut(location, "#/")
	node := c.document
	for step := range strings.SplitSeq(at, "/") {
		step, err := url.PathUnescape(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		require.NoError(t, err)
		switch parent := node.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			require.NoError(t, err)
			node = parent[i]
		case map[string]any:
			node = parent[step]
		}
	}
	schema, some := node.(map[string]any)
	require.True(t, some, location)
	schema = maps.Clone(schema)
	for _, words := range []string{"title", "description", "examples", "default"} {
		delete(schema, words)
	}
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	return name + " " + string(text)
}

// schemaOf returns the schema of a part of an operation.
func (c *contract) schemaOf(t *testing.T, o operation, part string) *jsonschema.Schema {
	t.Helper()
	schema, err := c.compiler.Compile(contractURL + "#/paths/" + pointer(o.path) + "/" + strings.ToLower(o.method) + "/" + part + "/schema")
	require.NoError(t, err)
	return schema
}

// requestSchema returns the schema of an operation's body, and the members it has.
func (c *contract) requestSchema(t *testing.T, o operation) (*jsonschema.Schema, []string) {
	t.Helper()
	schema := c.schemaOf(t, o, "requestBody/content/application~1json")
	for schema.Ref != nil {
		schema = schema.Ref
	}
	require.NotEmpty(t, schema.Properties)
	return schema, slices.Sorted(maps.Keys(schema.Properties))
}

func (c *contract) valid(t *testing.T, schema *jsonschema.Schema, body string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	require.NoError(t, err)
	return schema.Validate(value)
}

// withMember returns a body whose member has another value.
func withMember(t *testing.T, body, member string, value any) string {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &members))
	if members["title"] != nil {
		members["body"] = "b" // so that one of the two may be empty
	}
	members[member] = value
	text, err := json.Marshal(members)
	require.NoError(t, err)
	return string(text)
}

// accepts reports whether the server accepts the form of a member, whatever it says of the
// request.
func (r *rig) accepts(t *testing.T, q request, member string) bool {
	t.Helper()
	got := r.direct("", q)
	require.Less(t, got.status, http.StatusInternalServerError, string(got.body))
	if got.status == http.StatusNotFound && member == "version" && strings.HasSuffix(q.target, "/rollback") {
		return true // there may be such a version
	}
	if got.status == http.StatusNotFound && strings.HasSuffix(q.target, "/rotate") {
		return true // there may be such a key
	}
	require.NotContains(t, []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound}, got.status, string(got.body))
	if got.status != http.StatusUnprocessableEntity {
		return true
	}
	var p struct {
		Field string `json:"field"`
	}
	require.NoError(t, json.Unmarshal(got.body, &p))
	field, _, _ := strings.Cut(p.Field, ".")
	// title, body and data have one limit together, which is about body.
	ofContent := field == "body" && slices.Contains([]string{"title", "data"}, member)
	return field != member && !ofContent
}

// A schema of a parameter refuses no value that the server accepts, and refuses some value
// of every parameter but of a cursor, which is the server's own.
func TestParameterBoundsAreTheServers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	acme(r)
	booked(r)
	vip(r)
	r.fails("dead")
	c, outcomes := readContract(r), make(outcomes)
	for _, o := range operations() {
		for i, p := range c.Paths[o.path][strings.ToLower(o.method)].Parameters {
			if p.In == "header" || strings.HasSuffix(o.path, "/refit") || strings.HasSuffix(o.path, "/resume") || o.path == userPath { // those wait
				continue
			}
			schema := c.schemaOf(t, o, "parameters/"+strconv.Itoa(i))
			_, refused := outcomes.try(t, c.bounds(t, p.In+" "+p.Name, schema.Location), texts(p.In), func(value any) error {
				return schema.Validate(parameterValue(schema, fmt.Sprint(value)))
			}, func(value any) (string, bool) {
				q := o.request()
				q.target = withParameter(o, p.Name, p.In, fmt.Sprint(value))
				return q.method + " " + q.target, r.acceptsParameter(t, q, p.Name)
			})
			require.True(t, len(refused) > 0 || p.Name == "cursor", "%s of %s %s has no bounds", p.Name, o.method, o.path)
		}
	}
}

// texts are the possible values of a parameter in the path or the query.
func texts(in string) []any {
	return slices.DeleteFunc(values(), func(value any) bool {
		text, isText := value.(string)
		_, isNumber := value.(int)
		return !isText && !isNumber || isText && text == "" && in == "path"
	})
}

// parameterValue returns the value of a text.
func parameterValue(schema *jsonschema.Schema, text string) any {
	if schema.Types.ToStrings()[0] == "string" {
		return text
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return text
	}
	return value
}

// withParameter returns the target of an operation with another value of a parameter.
func withParameter(o operation, name, in, value string) string {
	path, query, _ := strings.Cut(o.target, "?")
	if in == "path" {
		named, given := strings.Split(o.path, "/"), strings.Split(path, "/")
		for i, segment := range named {
			if segment == "{"+name+"}" {
				given[i] = url.PathEscape(value)
			}
		}
		path = strings.Join(given, "/")
	} else {
		switch {
		case o.path == "/v1/events" && name != "follow": // whose stream would not end
			query = "follow=false&"
		case strings.HasPrefix(o.path, deadEventsPath) && name != "account":
			query = "account=acme&"
		case o.path == messagesPath && !strings.HasPrefix(name, "user"): // in one partition, since a look at all takes long
			query = "user=alice&"
		case o.method == http.MethodDelete && name == "limit":
			query = "older_than=1000d&"
		default:
			query = ""
		}
		query += name + "=" + url.QueryEscape(value)
	}
	return strings.TrimSuffix(path+"?"+query, "?")
}

// acceptsParameter reports whether the server accepts the form of a parameter. Of a path it
// may say that nothing has the name.
func (r *rig) acceptsParameter(t *testing.T, q request, name string) bool {
	t.Helper()
	got := r.direct("", q)
	require.Less(t, got.status, http.StatusInternalServerError, "%s: %s", q.target, got.body)
	if got.status == http.StatusNotFound || got.status == http.StatusUnprocessableEntity && strings.Contains(string(got.body), `"field":"`+name+`"`) {
		return false
	}
	return got.status != http.StatusUnprocessableEntity || name != "policy" // which the error calls by its member name
}
