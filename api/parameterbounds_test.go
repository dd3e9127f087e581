package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

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
	c := readContract(r)
	for _, o := range operations() {
		for i, p := range c.Paths[o.path][strings.ToLower(o.method)].Parameters {
			if p.In == "header" || strings.HasSuffix(o.path, "/refit") || strings.HasSuffix(o.path, "/resume") || o.path == userPath { // those wait
				continue
			}
			schema := c.schemaOf(t, o, "parameters/"+strconv.Itoa(i))
			_, refused := tryEach(t, texts(p.In), func(value any) (string, bool, error) {
				text := fmt.Sprint(value)
				q := o.request()
				q.target = withParameter(o, p.Name, p.In, text)
				return q.method + " " + q.target, r.acceptsParameter(t, q, p.Name), schema.Validate(parameterValue(schema, text))
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
