package api

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// newSchemas returns the schemas of the document, which are made of the types
// that the answers are.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[message.Time](), reflect.TypeFor[time.Time]())
	return schemas
}

// schemaName names the schema of a type after the type, unless that says too little
// outside of its package.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[policy.Document]():
		return "PolicyDocument"
	case reflect.TypeFor[message.APIKey]():
		return "Key"
	case reflect.TypeFor[message.NewAPIKey]():
		return "NewKey"
	case reflect.TypeFor[message.APIKeyDraft]():
		return "KeyDraft"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// document is the OpenAPI document.
type document struct{ *huma.OpenAPI }

func (s *server) document(version string, routes []route) document {
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:   "sendlimit",
			Version: cmp.Or(version, "unknown"),
			Description: "Takes messages that are to be pushed to a user at a later time, where the user's rules " +
				"have room at that time, and says what is in the way where they have not.\n\n" +
				"Times are RFC 3339; in answers they are UTC with milliseconds. Every answer has an `X-Request-Id`: " +
				"the caller's, if it sent one.\n\n" +
				"An API key is sent as `Authorization: Bearer sk_…`, and has scopes: with submit and read it reaches the messages " +
				"that its account has submitted, and others' are not found; with admin it reaches everything. What is not a success is an `application/problem+json` whose `code` " +
				"says what is wrong; members may be added to any answer.",
		},
		Tags: []*huma.Tag{
			{Name: "messages", Description: "Submitting messages, and what becomes of them."},
			{Name: "users", Description: "What a user gets, and when there is room for more. A user's name is one segment of the path: " +
				"percent-encoded, / as `%2F`, and a name that is only dots as `%2E`."},
			{Name: "policies", Description: "Who may get what, and when. Every program goes by a change within two seconds."},
			{Name: "dead letters", Description: "Messages that were given up."},
			{Name: "accounts", Description: "Who sends, by which API keys, and how much."},
			{Name: "operation", Description: "How the queue and the store are doing."},
		},
		Components: &huma.Components{Schemas: s.schemas, SecuritySchemes: map[string]*huma.SecurityScheme{
			keyScheme: {Type: "http", Scheme: "bearer", Description: "An API key, sk_…"},
		}},
	}
	for _, r := range routes {
		maps.Copy(r.Responses, s.problems(commonProblems()...))
		r.Security = s.security()
		r.Description = strings.TrimSpace(r.Description + "\n\n" + "A key wants the scope " + string(r.scope) + ".")
		d.AddOperation(&r.Operation)
	}
	describe(s.schemas)
	return document{d}
}

// schemaOf is a reference to the schema of a type.
func schemaOf[T any](s *server) *huma.Schema {
	t := reflect.TypeFor[T]()
	return s.schemas.Schema(t, true, t.Name())
}

// jsonBody documents a request whose body is a T.
func jsonBody[T any](s *server) *huma.RequestBody {
	return &huma.RequestBody{
		Required: true,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](s)}},
	}
}

// responses document that an operation answers with a T, or with a problem of
// one of the statuses.
func responses[T any](s *server, description string, problems ...int) map[string]*huma.Response {
	all := s.problems(problems...)
	all[strconv.Itoa(http.StatusOK)] = jsonResponse[T](s, description)
	return all
}

func jsonResponse[T any](s *server, description string) *huma.Response {
	return &huma.Response{
		Description: description,
		Headers:     headers(web.RequestIDHeader),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](s)}},
	}
}

// problems document statuses that an operation answers with when it has done
// nothing.
func (s *server) problems(statuses ...int) map[string]*huma.Response {
	all := make(map[string]*huma.Response)
	content := map[string]*huma.MediaType{web.ProblemType: {Schema: schemaOf[web.Problem](s)}}
	for _, status := range statuses {
		response := &huma.Response{Description: meaning(status), Headers: headers(web.RequestIDHeader), Content: content}
		switch status {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests:
			response.Headers = headers(web.RequestIDHeader, "Retry-After")
		case http.StatusUnauthorized:
			response.Headers = headers(web.RequestIDHeader, "WWW-Authenticate")
		}
		all[strconv.Itoa(status)] = response
	}
	all["default"] = &huma.Response{
		Description: "Anything else that is wrong.", Headers: headers(web.RequestIDHeader), Content: content,
	}
	return all
}

// keyScheme is what the document calls the API keys.
const keyScheme = "key"

// security is what every operation asks for: a key, or nothing where none is
// needed.
func (s *server) security() []map[string][]string {
	asked := []map[string][]string{{keyScheme: {}}}
	if !s.requireKeys {
		asked = append(asked, map[string][]string{})
	}
	return asked
}

// commonProblems are the statuses that every operation has.
func commonProblems() []int {
	return []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusServiceUnavailable,
	}
}

// bodyProblems are the statuses of an operation that takes a JSON body, and
// more.
func bodyProblems(more ...int) []int {
	return append([]int{http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}, more...)
}

func meaning(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "The request can't be read: its body is no JSON, or its query no query."
	case http.StatusForbidden:
		return "The key has not the scope, a page of another site has asked for this, or nothing is accepted for the user: code says which."
	case http.StatusUnauthorized:
		return "There is no key, or it is unknown, has expired, or is of a disabled account."
	case http.StatusTooManyRequests:
		return "The account has used up its requests (rate_limited) or messages (quota_exceeded), or too many wrong keys have come from " +
			"this address (rate_limited). Requests can be sent again after Retry-After. With quota_exceeded that is until resets_at, when " +
			"the hour or day of the send time ends: asking again before is of no use, but a send_at from then on, or another message's cancel."
	case http.StatusNotFound:
		return "Nothing is known of it: " + string(fault.CodeNotFound) + "."
	case http.StatusRequestTimeout:
		return "The request did not come whole in time."
	case http.StatusConflict:
		return "Refused, and nothing was changed: code says why, and of send_limit and quiet_hours violations and next_free_at say more."
	case http.StatusPreconditionFailed:
		return "It is not at the version that If-Match or If-None-Match says, and nothing was changed: " + string(fault.CodeVersionMismatch) + "."
	case http.StatusRequestEntityTooLarge:
		return "The body is too large."
	case http.StatusUnsupportedMediaType:
		return "The body is of another type than the operation takes."
	case http.StatusUnprocessableEntity:
		return "A field or parameter is not allowed as it is: field names it, and detail says what is."
	case http.StatusServiceUnavailable:
		return "The store does not answer or is full, or too many requests are being answered: the same request can be sent again after Retry-After."
	default:
		return http.StatusText(status) + "."
	}
}

// versioned documents an answer that has a version.
func versioned(all map[string]*huma.Response) map[string]*huma.Response {
	all[strconv.Itoa(http.StatusOK)].Headers = headers(web.RequestIDHeader, "ETag")
	return all
}

func headers(names ...string) map[string]*huma.Param {
	all := make(map[string]*huma.Param, len(names))
	for _, name := range names {
		switch name {
		case web.RequestIDHeader:
			all[name] = &huma.Param{Description: "The request's id.", Schema: &huma.Schema{Type: huma.TypeString}}
		case "Retry-After":
			all[name] = &huma.Param{Description: "Seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger}}
		case "WWW-Authenticate":
			all[name] = &huma.Param{Description: "Bearer, and what is wrong with the key.", Schema: &huma.Schema{Type: huma.TypeString}}
		case "ETag":
			all[name] = &huma.Param{Description: "The version, in quotes, as If-Match takes it.", Schema: &huma.Schema{Type: huma.TypeString}}
		case "Location":
			all[name] = &huma.Param{Description: "Where the message is looked at.", Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	return all
}
