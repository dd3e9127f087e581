package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/payload"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// schemasPath is where the document has the schemas.
const schemasPath = "#/components/schemas/"

// newSchemas returns the registry of schemas, generated from the types of requests and answers.
func newSchemas() huma.Registry {
	schemas := huma.NewMapRegistry(schemasPath, schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[message.Time](), reflect.TypeFor[time.Time]())
	schemas.RegisterTypeAlias(reflect.TypeFor[message.When](), reflect.TypeFor[string]()) // see orLocal
	return schemas
}

// schemaName returns the name of the type, or a longer one if it is unclear without its package.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[policy.Document]():
		return "PolicyDocument"
	case reflect.TypeFor[payload.Payload]():
		return deliverySchema
	case reflect.TypeFor[message.APIKey]():
		return "Key"
	case reflect.TypeFor[message.NewAPIKey]():
		return "NewKey"
	case reflect.TypeFor[message.APIKeyDraft]():
		return "KeyDraft"
	case reflect.TypeFor[message.APIKeyRotation]():
		return "KeyRotation"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// document is the OpenAPI document.
type document struct {
	*huma.OpenAPI

	scopes map[string]string // that an operation requires, by its id
}

func (s *server) document(version string, routes []route) document {
	d := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:   "sendlimit",
			Version: cmp.Or(version, "unknown"),
			Contact: &huma.Contact{Name: "The Sendlimit authors", URL: "https://github.com/sendlimit/sendlimiter"},
			License: &huma.License{Name: "MIT", Identifier: "MIT"},
			Description: "Accepts messages to users at a future time, if the time is free under the user's rules. If it is not, the " +
				"answer names the rules and messages that forbid the time, and the next free time.\n\n" +
				"Times are RFC 3339; in answers they are UTC with milliseconds. Every answer of an operation has an `X-Request-Id`, " +
				"which is the one in the request if present.\n\n" +
				"Send an API key as `Authorization: Bearer sk_…`. A key has scopes: with submit and read it reaches only the messages " +
				"of its account, with admin it reaches everything. The content of other accounts' messages is shown only to a key with admin and " +
				"content.\n\nEvery answer that is not a success is an `application/problem+json`, " +
				"whose `code` names the problem.\n\nAnswers may get more members. In a request, a member that is not required may be null, " +
				"which means the same as an absent member, unless its operation says otherwise.",
		},
		Servers: []*huma.Server{{URL: cmp.Or(s.BasePath, "/"), Description: "The server that this document comes from."}},
		Tags: []*huma.Tag{
			{Name: "messages", Description: "Submit, move and cancel messages, and see their statuses."},
			{Name: "campaigns", Description: "Count, pause, resume, cancel and move all messages of a campaign."},
			{Name: "users", Description: "A user's messages, settings and free times. A user's name is one segment of the path: " +
				"percent-encoded, / as `%2F`, and a name that is only dots as `%2E`."},
			{Name: "policies", Description: "The rules for users' messages. Every program follows a change within two seconds."},
			{Name: "dead letters", Description: "Messages, alerts and reports that were given up."},
			{Name: "accounts", Description: "Who submits messages: accounts, their API keys and tiers."},
			{Name: "events", Description: "What becomes of messages after they were accepted: followed as a stream, or posted to an account's callback."},
			{Name: "operation", Description: "The state of the queue and the store."},
		},
		Components: &huma.Components{Schemas: s.schemas, SecuritySchemes: map[string]*huma.SecurityScheme{
			keyScheme: {Type: "http", Scheme: "bearer", Description: "An API key, sk_…"},
		}},
	}
	scopes := make(map[string]string, len(routes))
	for _, r := range routes {
		scopes[r.OperationID] = string(r.scope)
		o := r.documented(s)
		addExample(&o)
		if !r.monitors {
			countRequests(o.Responses)
		}
		o.Security = s.security()
		o.Description = strings.TrimSpace(o.Description + "\n\n" + "Requires the scope " + string(r.scope) + ".")
		d.AddOperation(&o)
	}
	d.Webhooks = s.webhooks()
	describe(s.schemas)
	return document{d, scopes}
}

// schemaOf returns a reference to the schema of a type.
func schemaOf[T any](s *server) *huma.Schema {
	t := reflect.TypeFor[T]()
	return s.schemas.Schema(t, true, t.Name())
}

// jsonBody documents a request with a body of type T.
func jsonBody[T any](s *server) *huma.RequestBody {
	return jsonBodyOf(schemaOf[T](s))
}

// jsonBodyOf documents a request with a body of a schema.
func jsonBodyOf(schema *huma.Schema) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

func jsonResponse[T any](s *server, description string) *huma.Response {
	return &huma.Response{
		Description: description,
		Headers:     headers(web.RequestIDHeader),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](s)}},
	}
}

// problems documents the statuses of answers that are not a success.
func (s *server) problems(statuses ...int) map[string]*huma.Response {
	all := make(map[string]*huma.Response)
	content := map[string]*huma.MediaType{web.ProblemType: {Schema: schemaOf[web.Problem](s)}}
	for _, status := range statuses {
		response := &huma.Response{Description: meaning(status), Headers: headers(web.RequestIDHeader), Content: content}
		switch status {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusRequestTimeout:
			addHeader(response, "Retry-After", true)
		case http.StatusUnauthorized:
			addHeader(response, "WWW-Authenticate", true)
		case http.StatusForbidden: // if the key lacks the scope
			addHeader(response, "WWW-Authenticate", false)
		}
		all[strconv.Itoa(status)] = response
	}
	all["default"] = &huma.Response{
		Description: "Any other problem.", Headers: headers(web.RequestIDHeader), Content: content,
	}
	return all
}

// keyScheme is the name of the API keys in the document.
const keyScheme = "key"

// security documents that every operation requires a key, or accepts one.
func (s *server) security() []map[string][]string {
	asked := []map[string][]string{{keyScheme: {}}}
	if !s.RequireKeys {
		asked = append(asked, map[string][]string{})
	}
	return asked
}

// commonProblems returns the statuses that every operation has.
func commonProblems() []int {
	return []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusServiceUnavailable,
	}
}

func meaning(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "The body is no JSON, or the query is malformed."
	case http.StatusForbidden:
		return "The key lacks the scope, the request came from another site's page, or the user is blocked: see code."
	case http.StatusUnauthorized:
		return "The key is missing, unknown or expired, or its account is disabled."
	case http.StatusTooManyRequests:
		return "The account has used up its requests of this kind (rate_limited) or the messages of an hour or day that ends within an hour " +
			"(quota_exceeded), the message was moved too often within a minute (rate_limited), or this address has sent too many wrong keys " +
			"(rate_limited). Send the request again after Retry-After."
	case http.StatusNotFound:
		return "It does not exist: " + string(fault.CodeNotFound) + "."
	case http.StatusRequestTimeout:
		return "The request did not arrive in time. Send it again after Retry-After."
	case http.StatusConflict:
		return "Refused without a change. code has the reason. With send_limit and quiet_hours, violations have details; next_free_at is free for all limits, whatever refused the time. " +
			"With throttled, all users together have the most messages of the category in that minute or hour that the policy allows. " +
			"With quota_exceeded the account has no messages left for the hour or day of send_at, which ends at resets_at: only another " +
			"send_at, such as next_free_at, or the cancelling of another message helps."
	case http.StatusPreconditionFailed:
		return "It has another version than If-Match or If-None-Match says, and nothing was changed: " + string(fault.CodeVersionMismatch) + "."
	case http.StatusRequestEntityTooLarge:
		return "The body is too large."
	case http.StatusUnsupportedMediaType:
		return "The operation does not accept this media type."
	case http.StatusUnprocessableEntity:
		return "A field or parameter is invalid: field names it, and detail explains what is allowed."
	case http.StatusServiceUnavailable:
		return "The store does not answer or is full, or there are too many requests at a time. Send the same request again after Retry-After."
	default:
		return http.StatusText(status) + "."
	}
}

// The schemas of a category of a policy.
const (
	categoryDraftSchema = "CategoryDocument" // in a request
	categorySchema      = "Category"         // in an answer
)

// The schemas of a dated change of a policy.
const (
	changeDraftSchema = "ChangeDocument" // in a request
	changeSchema      = "Change"         // in an answer
)

// separateCategories gives the categories and changes of a policy in an answer separate schemas,
// which have no bounds.
func separateCategories(schemas map[string]*huma.Schema) {
	schemas[categorySchema], schemas[changeSchema] = copied(schemas[categoryDraftSchema]), copied(schemas[changeDraftSchema])
	category := &huma.Schema{Ref: schemasPath + categorySchema}
	schemas["Policy"].Properties["categories"].AdditionalProperties = category
	schemas["Policy"].Properties["changes"].Items = &huma.Schema{Ref: schemasPath + changeSchema}
	schemas[changeSchema].Properties["categories"].AdditionalProperties = category
}

// copied returns a schema with properties of its own.
func copied(schema *huma.Schema) *huma.Schema {
	own := *schema
	own.Properties = make(map[string]*huma.Schema, len(schema.Properties))
	for member, property := range schema.Properties {
		p := *property
		own.Properties[member] = &p
	}
	return &own
}
