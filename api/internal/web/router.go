package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Router finds the handler of a request. The zero value has no handlers. If several paths match,
// the first with the request's method answers: a message may have the id "batch", so GET
// /v1/messages/batch finds it, while POST submits a batch.
//
// http.ServeMux can't be used: it treats a segment that is only an escaped / as the end of the
// path, though a user may have that name, and it redirects where a Router answers with a problem.
type Router []*address

// Handle registers the handler for requests with the method at the path. A segment such as {user}
// matches any name.
func (all *Router) Handle(method, path string, handler http.HandlerFunc) {
	a := all.at(path)
	a.methods[method] = handler
	if method == http.MethodGet {
		a.methods[http.MethodHead] = handler // the server drops the body
	}
}

// at returns the address of a path, a new one if there is none.
func (all *Router) at(path string) *address {
	segments := strings.Split(path, "/")
	for _, a := range *all {
		if slices.Equal(a.segments, segments) {
			return a
		}
	}
	a := &address{segments: segments, methods: make(map[string]http.HandlerFunc)}
	*all = append(*all, a)
	return a
}

// address is a path with a handler for each method.
type address struct {
	segments []string // "{user}" matches any name
	methods  map[string]http.HandlerFunc
}

// ServeHTTP calls the handler of a request. Without one it answers with a problem.
func (all Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(methods(), r.Method) {
		WriteProblem(w, message.Outcome{
			Outcome: message.Errored, Code: CodeNotImplemented,
			Detail: fmt.Sprintf("unknown method %q", Printable(r.Method)),
		})
		return
	}
	segments := strings.Split(r.URL.EscapedPath(), "/")
	var matching []*address
	for _, a := range all {
		values, matches := a.match(segments)
		if !matches {
			continue
		}
		if handle, known := a.methods[r.Method]; known {
			for name, value := range values {
				r.SetPathValue(name, value)
			}
			handle(w, r)
			return
		}
		matching = append(matching, a)
	}
	if len(matching) == 0 {
		NotFound(w, r)
		return
	}
	methodNotAllowed(w, r, matching)
}

// match reports whether the escaped segments of a request match the address. If so, it returns the
// values of names, such as "user" for "{user}".
func (a *address) match(segments []string) (values map[string]string, matches bool) {
	if len(segments) != len(a.segments) {
		return nil, false
	}
	for i, segment := range segments {
		name, free := strings.CutPrefix(a.segments[i], "{")
		if free && (segment == "" || segment == "." || segment == "..") {
			return nil, false // no name, or a step in the path: the user ".." is written %2E%2E
		}
		value, err := url.PathUnescape(segment)
		if err != nil || !free && value != a.segments[i] {
			return nil, false
		}
		if free {
			if values == nil {
				values = make(map[string]string)
			}
			values[strings.TrimSuffix(name, "}")] = value
		}
	}
	return values, true
}

// methods returns the methods of HTTP. No address has another one.
func methods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace,
	}
}

// methodNotAllowed answers a request for addresses without its method.
func methodNotAllowed(w http.ResponseWriter, r *http.Request, addresses []*address) {
	known := make(map[string]bool)
	for _, a := range addresses {
		for method := range a.methods {
			known[method] = true
		}
	}
	allow := strings.Join(slices.Sorted(maps.Keys(known)), ", ")
	w.Header().Set("Allow", allow)
	WriteProblem(w, message.Outcome{
		Outcome: message.Errored, Code: CodeMethodNotAllowed,
		Detail: fmt.Sprintf("this address has no method %s: use %s", Printable(r.Method), allow),
	})
}

// NotFound answers a request for an unknown address.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	WriteProblem(w, message.Outcome{
		Outcome: message.Refused, Code: fault.CodeNotFound,
		Detail: "unknown address: see /docs; write a / in a user's name as %2F",
	})
}
