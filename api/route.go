package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// route is an operation of the API: its documentation and its handler. The handler is do,
// or handle if the answer is not one JSON value.
type route struct {
	huma.Operation

	// scope is the scope that a key needs. "" is a page for everybody.
	scope  accounts.Scope
	do     func(*http.Request, web.Query) (web.Answer, error)
	handle http.HandlerFunc
	// allows says whether a caller with the scope may do this to what the address names; nil if
	// each may.
	allows func(*http.Request) error
	// submits counts requests towards how often an account may submit. The others count
	// towards how often it may read, or change something.
	submits bool
	// streams is set for a request that lasts as long as the client wants. It counts
	// towards Limits.Streams and sets its own deadlines.
	streams bool
	// attended is set for a stream that is useful only to its caller. It ends when the
	// client closes the connection or its half of it.
	attended bool
	// follows is set for a stream of events. It counts towards Limits.Followers in place of
	// Limits.Streams.
	follows bool
	// looks is set for a request that changes nothing, although it is no GET.
	looks bool
	// told is set for a change of a message, which its history and its events tell.
	told bool
	// erases is set for a request after which nothing may name the user.
	erases bool
	// monitors is set for a request that monitors this process. It counts towards no
	// limit, and is answered while the store is away.
	monitors bool
}

// answered returns a handler that calls the route's do. An error becomes a problem. Only
// documented parameters are accepted.
func (s *server) answered(rt route) http.HandlerFunc {
	var parameters []string
	for _, p := range rt.Parameters {
		if p.In == "query" {
			parameters = append(parameters, p.Name)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := web.ParseQuery(r.URL.RawQuery, parameters)
		if err == nil {
			err = s.openCursors(r.Context(), q)
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		a, err := rt.do(r, q)
		if err == nil {
			err = exchangeOf(r.Context()).unsealed
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		a.WriteUnlessKnown(w, r)
	}
}
