package api

import (
	"context"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// inputs read the In of an operation from a request, and document it. They are derived from the
// type, a struct with these fields:
//
//	`path:"user"`       string: a name in the path
//	`query:"from"`      string, bool, int, time.Time or an encoding.TextUnmarshaler: a parameter
//	a part              reads and documents itself, such as a body
//
// A parameter that is absent leaves its field unchanged. Further tags of a parameter:
//
//	doc, example        its documentation
//	usual, most         the default and the maximum of an int
//	required            it must be given
//	now                 of a time: "zero" if the store's clock decides when now is
//	like                the member of requests with the same bounds, if not the one of the same name
//
// An In with a method check can report further errors, together with those of its body.
type inputs struct {
	fields []field
	json   bool // it has a JSON body

	// Only set by document.
	parameters []*huma.Param
	body       *huma.RequestBody // nil for none
	problems   []int             // that follow from its parts
	versioned  bool              // what it is about has a version
}

// field is a field of an In: a name in the path, a parameter, or a part.
type field struct {
	index       []int
	path, query string
	document    func(s *server, in *inputs)
	read        func(s *server, r *http.Request, q web.Query, into reflect.Value) (message.Faults, error)
}

// part is a field of an In, by its pointer, that is not a single parameter. A JSON body also has
// isJSON.
type part interface {
	// read reads the part from a request. Faults are errors of single members; a check may add
	// more.
	read(s *server, r *http.Request) (message.Faults, error)
	// document adds the part to the documentation of an operation.
	document(s *server, in *inputs)
}

// checked is an In, by its pointer, with checks beyond its single fields.
type checked interface {
	check(ctx context.Context, s *server) error
}

func inputsOf[In any]() *inputs {
	in := &inputs{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		if !f.IsExported() && !f.Anonymous {
			continue // of the check
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[part]()) {
			continue // its fields are visible too
		}
		name, inPath := f.Tag.Lookup("path")
		parameter, inQuery := f.Tag.Lookup("query")
		own := field{index: f.Index, path: name, query: parameter}
		switch {
		case inPath:
			own.document = func(_ *server, in *inputs) { in.parameters = append(in.parameters, pathParameter(name)) }
			own.read = func(_ *server, r *http.Request, _ web.Query, into reflect.Value) (message.Faults, error) {
				into.SetString(r.PathValue(name))
				return message.Faults{}, nil
			}
		case inQuery:
			own.document = func(_ *server, in *inputs) { in.parameters = append(in.parameters, queryParameter(parameter, f)) }
			read := parameterReader(parameter, f)
			own.read = func(s *server, _ *http.Request, q web.Query, into reflect.Value) (message.Faults, error) {
				return message.Faults{}, read(s, q, into)
			}
		default:
			p, _ := reflect.New(f.Type).Interface().(part) // every other field is one
			_, isJSON := p.(interface{ isJSON() })
			in.json = in.json || isJSON
			own.document = p.document
			own.read = func(s *server, r *http.Request, _ web.Query, into reflect.Value) (message.Faults, error) {
				p, _ := into.Addr().Interface().(part)
				return p.read(s, r)
			}
		}
		in.fields = append(in.fields, own)
	}
	return in
}

func (in *inputs) document(s *server) {
	in.parameters, in.body, in.problems = nil, nil, nil
	for _, f := range in.fields {
		f.document(s, in)
	}
}

// into reads an In, by its pointer, from a request.
func (in *inputs) into(s *server, given any, r *http.Request, q web.Query) (err error) {
	value := reflect.ValueOf(given).Elem()
	var faults message.Faults
	for _, f := range in.fields {
		some, err := f.read(s, r, q, value.FieldByIndex(f.index))
		if err != nil {
			return err
		}
		if !some.None() { // at most one part has a body
			faults = some
		}
	}
	if c, has := given.(checked); has {
		err = c.check(r.Context(), s)
	}
	return faults.With(err)
}

// parameterReader returns a function that reads a parameter into a field.
func parameterReader(name string, f reflect.StructField) func(s *server, q web.Query, into reflect.Value) error {
	if reflect.PointerTo(f.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) && f.Type != reflect.TypeFor[time.Time]() {
		return func(_ *server, q web.Query, into reflect.Value) error {
			text, given := q[name]
			if !given && f.Tag.Get("required") == "" {
				return nil
			}
			u, _ := into.Addr().Interface().(encoding.TextUnmarshaler)
			return u.UnmarshalText([]byte(text))
		}
	}
	switch f.Type.Kind() {
	case reflect.Int:
		usual, most := countsOf(f)
		return func(_ *server, q web.Query, into reflect.Value) error {
			n, err := q.Count(name, usual, most)
			into.SetInt(int64(n))
			return err
		}
	case reflect.Bool:
		return func(_ *server, q web.Query, into reflect.Value) error {
			_, given := q[name]
			flag, err := q.Flag(name)
			into.SetBool(flag || !given && f.Tag.Get("usual") == "true")
			return err
		}
	case reflect.Struct: // a time
		return func(s *server, q web.Query, into reflect.Value) error {
			now := s.present()
			if f.Tag.Get("now") == "zero" {
				now = time.Time{}
			}
			at, err := q.Time(name, now)
			into.Set(reflect.ValueOf(at))
			return err
		}
	default:
		return func(_ *server, q web.Query, into reflect.Value) error {
			text, given := q[name]
			into.SetString(text)
			if !given {
				return nil
			}
			return checkText(name, text)
		}
	}
}

// checkText returns an error about the text of a parameter. An empty one would look absent, which
// may mean all.
func checkText(name, text string) error {
	switch {
	case name == "user":
		return keyspace.CheckUser(text)
	case name == "policy" && !keyspace.ValidName(text):
		return &fault.InvalidError{Field: name, Value: text, Want: keyspace.WantName}
	case text == "":
		return fault.Wrong(name, "the query parameter %s has no value: give it one, or leave it out", name)
	case name == "category":
		return message.CheckCategory(text)
	}
	return nil
}

func countsOf(f reflect.StructField) (usual, most int) {
	most, _ = strconv.Atoi(f.Tag.Get("most"))
	usual, _ = strconv.Atoi(f.Tag.Get("usual"))
	return usual, most
}

func queryParameter(name string, f reflect.StructField) *huma.Param {
	p := &huma.Param{Name: name, In: "query", Description: f.Tag.Get("doc"), Required: f.Tag.Get("required") != ""}
	if example, some := f.Tag.Lookup("example"); some {
		p.Example = example
	}
	if name == "cursor" {
		p.Description, p.Schema = "The next_cursor of the page before.", &huma.Schema{Type: huma.TypeString, MinLength: new(1)}
		return p
	}
	switch v := reflect.New(f.Type).Interface().(type) {
	case interface{ schema() *huma.Schema }:
		p.Schema = v.schema()
	case *time.Time:
		p.Example, p.Schema = "2040-06-22T11:11:11Z", parameterSchema("send_at") // which may be now too
		p.Description += " RFC 3339, or now; a + is written %2B."
	case *int:
		usual, most := countsOf(f)
		p.Schema = &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(most)), Default: usual}
	case *bool:
		p.Schema = &huma.Schema{Type: huma.TypeBoolean, Default: f.Tag.Get("usual") == "true"}
	default:
		member := name
		if like, some := f.Tag.Lookup("like"); some {
			member = like
		}
		p.Schema = parameterSchema(member)
	}
	return p
}

func pathParameter(name string) *huma.Param {
	p := &huma.Param{Name: name, In: "path", Required: true, Description: "The " + name + "'s name: 1 to 64 of a-z 0-9 _ -"}
	switch name {
	case "user":
		p.Example, p.Description = "alice", "The user's name, percent-encoded: 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends."
	case "id":
		p.Example, p.Description = "order-17", "The message's id: 1 to 128 of A-Z a-z 0-9 . _ : -"
	case "campaign":
		p.Example, p.Description = "spring", "The campaign's name: 1 to 64 of a-z A-Z 0-9 . _ -"
	case "device":
		p.Example, p.Description = "phone", "The device's id: 1 to 64 of A-Z a-z 0-9 . _ -"
	case "key":
		p.Example, p.Description = "Zx3kQ9aB", "The key's id, which is not secret."
		p.Schema = &huma.Schema{Type: huma.TypeString, Pattern: "^[A-Za-z0-9]{8}$"}
	case "session":
		p.Example, p.Description = "3fa91c02b7d86e54", "The session's id, as listSessions has it."
		p.Schema = &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9a-f]{16}$"}
	case "channel":
		p.Example, p.Description, p.Schema = devices.FCM, "The name of the channel, as listChannels has it.", parameterSchema("name")
	case "alert":
		p.Example, p.Description = "account_quota/1795305600000/80/acme", "The alert's id, as the list has it. Its slashes are written %2F."
		p.Schema = &huma.Schema{Type: huma.TypeString, Pattern: whole("[a-z_]+/" + userPattern)}
	default:
		p.Example = map[string]string{"account": "acme", "tier": "free", "policy": "vip", "event": submitEvent}[name]
	}
	if p.Schema == nil {
		p.Schema = parameterSchema(name)
	}
	return p
}

// object is the body of a request: an object with only the members of T.
type object[T any] struct {
	value T
	given map[string]json.RawMessage // the members that it has and that can be read
}

func (o *object[T]) read(s *server, r *http.Request) (faults message.Faults, err error) {
	o.value, o.given, faults, err = web.ReadMembers[T](s.bodies(), r)
	return faults, err
}

func (*object[T]) isJSON() {}

func (o *object[T]) document(s *server, in *inputs) {
	in.body = jsonBody[T](s)
	in.problems = append(in.problems, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
}

// condition is the version that a request expects to change.
type condition struct{ web.Precondition }

func (c *condition) read(_ *server, r *http.Request) (faults message.Faults, err error) {
	c.Precondition, err = web.PreconditionOf(r.Header)
	return faults, err
}

func (c *condition) document(_ *server, in *inputs) {
	in.parameters = append(in.parameters,
		&huma.Param{
			Name: "If-Match", In: "header", Example: `"7"`,
			Description: "Does the request only if it is at this version, in quotes as in ETag, or at one of several with commas between them. * is any version. \"0\" means that there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		},
		&huma.Param{
			Name: "If-None-Match", In: "header", Example: "*",
			Description: "* does the request only if there is nothing yet.",
			Schema:      &huma.Schema{Type: huma.TypeString},
		})
	in.problems, in.versioned = append(in.problems, http.StatusPreconditionFailed), true
}

// parameterNames returns the names of the parameters in the query.
func (in *inputs) parameterNames() []string {
	var names []string
	for _, f := range in.fields {
		if f.query != "" {
			names = append(names, f.query)
		}
	}
	return names
}
