package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/clients/generate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// contract is the OpenAPI document, as a client reads it.
type contract struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct {
			Name string `json:"name"`
			In   string `json:"in"`
		} `json:"parameters"`
		RequestBody *struct {
			Content map[string]any `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Headers map[string]struct {
				Required bool `json:"required"`
			} `json:"headers"`
			Content map[string]any `json:"content"`
		} `json:"responses"`
	} `json:"paths"`

	document any // parsed
	compiler *jsonschema.Compiler
	// answers are those that matched, a line each as answers.mjs reads them.
	answers []byte
	// statuses and headers are those that were seen: "/v1/stats get 200 RateLimit".
	seen map[string]bool
}

func readContract(r *rig) *contract {
	r.Helper()
	text := r.document()
	c := &contract{seen: make(map[string]bool)}
	require.NoError(r, json.Unmarshal(text, c))
	var err error
	c.document, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(r, err)
	closeSchemas(r, c.document)
	c.compiler = compilerOf(r, c.document)
	return c
}

func compilerOf(r *rig, document any) *jsonschema.Compiler {
	r.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	require.NoError(r, compiler.AddResource(contractURL, document))
	return compiler
}

const contractURL = "https://api.test/openapi.json"

// closeSchemas has the schemas take no member that they don't document: clients
// have to, but here it would be a member that was forgotten.
func closeSchemas(r *rig, document any) {
	r.Helper()
	node := document
	for _, name := range []string{"components", "schemas"} {
		object, some := node.(map[string]any)
		require.True(r, some)
		node = object[name]
	}
	schemas, some := node.(map[string]any)
	require.True(r, some)
	for _, schema := range schemas {
		object, some := schema.(map[string]any)
		require.True(r, some)
		object["additionalProperties"] = false
	}
}

// matches requires that a reply is documented for an operation: its status, its
// type, its headers, and every line of its body.
func (c *contract) matches(t *testing.T, path, method string, got reply) {
	t.Helper()
	operation, known := c.Paths[path][strings.ToLower(method)]
	require.True(t, known, "%s %s is not documented", method, path)
	status := strconv.Itoa(got.status)
	response, known := operation.Responses[status]
	require.True(t, known, "%s of %s is not documented: %s", status, operation.OperationID, got.body)
	require.Equal(t, `attachment; filename="answer.json"`, got.header.Get("Content-Disposition"), "no page shows it")
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	place := path + " " + strings.ToLower(method) + " " + status
	c.seen[place] = true
	for name, header := range response.Headers {
		if header.Required {
			require.NotEmpty(t, got.header.Get(name), "%s of a %s", name, status)
		}
	}
	for name := range got.header {
		if slices.Contains(standardHeaders(), name) {
			continue
		}
		as := documentedAs(name)
		require.Contains(t, response.Headers, as, "%s of %s is sent", status, operation.OperationID)
		c.seen[place+" "+as] = true
	}
	if len(response.Content) == 0 {
		require.Empty(t, got.body)
		return
	}
	mediaType := got.header.Get("Content-Type")
	require.Contains(t, response.Content, mediaType)
	at := "/paths/" + pointer(path) + "/" + strings.ToLower(method) + "/responses/" + status + "/content/" + pointer(mediaType) + "/schema"
	schema, err := c.compiler.Compile(contractURL + "#" + at)
	require.NoError(t, err)
	bodies := [][]byte{got.body}
	if mediaType == web.ProblemType {
		var p web.Problem
		require.NoError(t, json.Unmarshal(got.body, &p))
		require.Contains(t, web.KindOf(p.Code).Statuses(), got.status, "/docs lists every status of %s", p.Code)
	}
	if mediaType == "application/x-ndjson" {
		bodies = bytes.Split(bytes.TrimSpace(got.body), []byte("\n"))
	}
	for _, body := range bodies {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		require.NoError(t, err, string(body))
		require.NoError(t, schema.Validate(value), "%s answered %s", operation.OperationID, body)
		line, err := json.Marshal(map[string]any{"name": place, "schema": at, "body": json.RawMessage(body)})
		require.NoError(t, err)
		c.answers = append(append(c.answers, line...), '\n')
	}
}

// standardHeaders are those that any server sends, or that proxies read, and that clients need not know.
func standardHeaders() []string {
	return []string{
		"Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Transfer-Encoding", "Referrer-Policy", "Content-Disposition",
		"Content-Security-Policy", "X-Content-Type-Options", "X-Accel-Buffering",
	}
}

// documentedAs returns the document's name of a header from Go's.
func documentedAs(name string) string {
	for _, as := range []string{"ETag", "RateLimit", "RateLimit-Policy", "WWW-Authenticate"} {
		if strings.EqualFold(as, name) {
			return as
		}
	}
	return name
}

// requireAllSeen requires that every status and header that is documented was seen. The
// limits of requests belong to the operation, whatever the status.
func (c *contract) requireAllSeen(t *testing.T) {
	t.Helper()
	for path, operations := range c.Paths {
		for method, operation := range operations {
			limits := make(map[string]bool)
			for status, response := range operation.Responses {
				place := path + " " + method + " " + status
				require.True(t, c.seen[place] || status == "default", "nothing has tried a %s of %s", status, operation.OperationID)
				for name := range response.Headers {
					if strings.HasPrefix(name, "RateLimit") {
						limits[name] = limits[name] || c.seen[place+" "+name]
						continue
					}
					require.True(t, c.seen[place+" "+name] || status == "default", "no %s of %s had %s", status, operation.OperationID, name)
				}
			}
			for name, seen := range limits {
				require.True(t, seen, "no answer of %s had %s", operation.OperationID, name)
			}
		}
	}
}

// pointer escapes a name for a JSON pointer in an address.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// Tools accept the document.
func TestTheDocumentIsOpenAPI(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	text, err := os.ReadFile("testdata/openapi-3.1.json")
	require.NoError(t, err)
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("oas.json", schema))
	openAPI, err := compiler.Compile("oas.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.document()))
	require.NoError(t, err)
	require.NoError(t, openAPI.Validate(document))

	other := r.get("/openapi.yaml")
	require.Equal(t, "application/yaml", other.header.Get("Content-Type"))
	require.Contains(t, string(other.body), "openapi: 3.1.0\n")
	same, err := yaml.YAMLToJSON(other.body)
	require.NoError(t, err)
	require.JSONEq(t, string(r.document()), string(same))
}

// Every operation is tried, and answers with every status and header that it documents
// and with no other, as it documents it. A validator that others use agrees.
func TestEveryOperationAnswersAsDocumented(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	c := readContract(newRig(t))
	try := func(t *testing.T, cases []contractCase) {
		t.Helper()
		for _, tried := range cases {
			t.Run(tried.method+" "+tried.path+" "+tried.name, func(t *testing.T) {
				got := tried.run(t)
				require.Equal(t, tried.status, got.status, string(got.body))
				c.matches(t, tried.path, tried.method, got)
			})
		}
	}
	t.Run("alike", func(t *testing.T) { try(t, wrongCases(t)) })
	try(t, ownCases())
	c.requireAllSeen(t)

	document := saved(t, nil)
	answers := filepath.Join(filepath.Dir(document), "answers.ndjson")
	wrong := `{"name":"a wrong time","schema":"/components/schemas/Conflict","body":{"send_at":"10000-01-01T00:00:00.000Z"}}`
	require.NoError(t, os.WriteFile(answers, append(c.answers, wrong...), 0o600))
	require.NoError(t, installed())
	out, err := tool(t.Context(), "node", "answers.mjs", document, answers).Output()
	require.Error(t, err)
	require.Contains(t, string(out), "a wrong time: ")
	require.Contains(t, string(out), strconv.Itoa(bytes.Count(c.answers, []byte("\n"))+1)+" answers, 1 wrong", "no other is wrong")
}

// The schemas of requests agree with the code: documented examples are valid by the schema, and the
// code refuses everything that the schema refuses.
func TestRequestsAreDocumentedAsTheyAreTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := readContract(r)
	schema, err := c.compiler.Compile(contractURL + "#/paths/~1v1~1messages/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	for _, draft := range []struct {
		body  string
		valid bool
	}{
		{`{"user":"alice","send_at":"` + on22("11:11:11") + `","title":"Hi"}`, true},
		{`{"user":"alice","send_at":"` + on22("13:11:11") + `","id":"a","category":"c","title":"Hi","body":"b","data":{"k":"v"},"campaign":"A.b_c-1","metadata":{"k":"v"},"expires_at":"` +
			on22("18:00:00") + `","on_conflict":"shift","shift_until":"` + on22("17:00:00") + `"}`, true},
		{`{"user":"alice","send_at":"` + on22("14:11:11") + `","title":"Hi","shift_until":"` + on22("17:00:00") + `"}`, true},
		{`{"user":"alice","send_at":"now","body":"b"}`, true},
		{`{"send_at":"` + on22("11:11:11") + `","title":"Hi"}`, false},
		{`{"user":"alice","window":{"from":"now","until":"` + on22("18:00:00") + `","prefer":"latest"},"title":"Hi"}`, true},
		{`{"user":"alice","window":{"from":"now"},"title":"Hi"}`, false},
		{`{"user":"alice","window":{"until":"` + on22("18:00:00") + `","prefer":"worst"},"title":"Hi"}`, false},
		{`{"user":1,"send_at":"now","title":"Hi"}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","data":{"k":1}}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","when":"later"}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","campaign":"a b"}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","metadata":{"":"a"}}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","metadata":{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":""}}`, false},
		{`{"user":"alice","send_at":"now","title":"Hi","metadata":{"a":"` + strings.Repeat("x", 513) + `"}}`, false},
		{`[]`, false},
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(draft.body))
		require.NoError(t, err)
		require.Equal(t, draft.valid, schema.Validate(value) == nil, "the schema of %s: %v", draft.body, schema.Validate(value))
		taken := r.post("/v1/messages", draft.body).status == http.StatusCreated
		require.Equal(t, draft.valid, taken, draft.body)
	}
}

// An unknown member of a request is an error, and the document says so.
func TestRequestsTakeNoUnknownMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.document()))
	require.NoError(t, err)
	c := &contract{compiler: compilerOf(r, document)} // as it is, which readContract closes
	for _, o := range operations() {
		if o.body == "" {
			continue
		}
		of := c.schemaOf(t, o, "requestBody/content/"+pointer(o.mediaType()))
		for _, one := range append(of.AnyOf, of) {
			for one.Ref != nil {
				one = one.Ref
			}
			require.True(t, len(one.AnyOf) > 0 || one.AdditionalProperties == false, "%s of %s %s", one.Location, o.method, o.path)
		}
	}
}

// The document describes every member and parameter.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Description string `json:"description"`
					Ref         string `json:"$ref"`
					Examples    []any  `json:"examples"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
		Paths map[string]map[string]struct {
			Summary    string `json:"summary"`
			Parameters []struct {
				Name        string `json:"name"`
				Description string `json:"description"`
			} `json:"parameters"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(newRig(t).document(), &document))
	for name, schema := range document.Components.Schemas {
		for member, property := range schema.Properties {
			require.NotEmpty(t, property.Description, "%s.%s", name, member)
			require.False(t, property.Ref != "" && property.Examples != nil, "words as examples of the object %s.%s", name, member)
		}
	}
	for path, operations := range document.Paths {
		for method, operation := range operations {
			require.NotEmpty(t, operation.Summary, "%s %s", method, path)
			for _, p := range operation.Parameters {
				require.NotEmpty(t, p.Description, "%s of %s %s", p.Name, method, path)
			}
		}
	}
}

// The methods of the generated clients are those of the present document. A
// long test of package integration compares the rest of their generated files.
func TestClientsHaveTheOperationsOfTheDocument(t *testing.T) {
	t.Parallel()
	files, err := generate.Files(newRig(t).document())
	require.NoError(t, err)
	outdated, err := generate.Outdated("../clients", files)
	require.NoError(t, err)
	require.Empty(t, outdated, "make clients writes these files of the folder clients from the OpenAPI document")
}
