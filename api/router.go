package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// router finds what answers a request. It is here since http.ServeMux takes a
// segment that is only an escaped / for the end of the path, and a user may be
// called so; and it redirects where this answers with a problem.
type router []*address

// address is a path, with what answers each method.
type address struct {
	segments []string // "{user}" stands for any
	methods  map[string]http.HandlerFunc
	allow    string
}

func (s *server) router(version string) (router, error) {
	routes := s.routes()
	if err := scoped(routes); err != nil {
		return nil, err
	}
	pages := s.pages(s.document(version, routes))
	if s.metrics != nil {
		routes = append(routes, s.metricsRoute())
	}
	var all router
	at := make(map[string]*address)
	for _, r := range append(routes, pages...) {
		if r.do != nil {
			r.handle = s.answered(r)
		}
		if r.scope != "" {
			r.handle = s.authorized(r)
		}
		a, known := at[r.Path]
		if !known {
			a = &address{segments: strings.Split(r.Path, "/"), methods: make(map[string]http.HandlerFunc)}
			at[r.Path] = a
			all = append(all, a)
		}
		a.methods[r.Method] = s.bounded(r)
		if r.Method == http.MethodGet {
			a.methods[http.MethodHead] = a.methods[r.Method] // whose body the server leaves out
		}
		a.allow = strings.Join(slices.Sorted(maps.Keys(a.methods)), ", ")
	}
	return all, nil
}

// scoped refuses a route that is open to everybody.
func scoped(routes []route) error {
	for _, r := range routes {
		if _, err := accounts.ParseScopes(string(r.scope)); err != nil {
			return fmt.Errorf("%s %s has no scope, and nobody would be kept out: %w", r.Method, r.Path, err)
		}
	}
	return nil
}

// metricsRoute is of the program that serves the API, and not in the document: it
// has no JSON.
func (s *server) metricsRoute() route {
	return route{
		Operation: huma.Operation{Method: http.MethodGet, Path: "/metrics"},
		scope:     accounts.ScopeRead, handle: s.metrics.ServeHTTP, monitors: true,
	}
}

// ServeHTTP answers a request.
func (all router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for _, a := range all {
		if !a.matches(r, segments) {
			continue
		}
		if handle, known := a.methods[r.Method]; known {
			handle(w, r)
		} else {
			a.methodNotAllowed(w, r)
		}
		return
	}
	notFound(w, r)
}

// matches says whether the segments, as they are escaped, are the address, and
// then notes in the request what the names in it stand for.
func (a *address) matches(r *http.Request, segments []string) bool {
	if len(segments) != len(a.segments) {
		return false
	}
	for i, segment := range segments {
		name, free := strings.CutPrefix(a.segments[i], "{")
		if free && (segment == "" || segment == "." || segment == "..") {
			return false // no name, or a step in the path: a user called .. is %2E%2E
		}
		value, err := url.PathUnescape(segment)
		if err != nil || !free && value != a.segments[i] {
			return false
		}
		if free {
			r.SetPathValue(strings.TrimSuffix(name, "}"), value)
		}
	}
	return true
}

func (a *address) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", a.allow)
	WriteProblem(w, r, message.Outcome{
		Outcome: message.Errored, Code: codeMethodNotAllowed,
		Detail: fmt.Sprintf("%q is not a method of this address: it takes %s", clip(r.Method), a.allow),
	})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	WriteProblem(w, r, message.Outcome{
		Outcome: message.Refused, Code: fault.CodeNotFound,
		Detail: "there is nothing at this address: /docs lists what there is, and a / in a user's name is written %2F",
	})
}

// underV1 says whether a request is for an operation, and not for a page about
// them.
func underV1(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, v1) }

const v1 = "/v1/"
