package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
)

// route is an operation: how it is documented, and what answers it: do, or
// handle where the answer is no JSON value.
type route struct {
	huma.Operation

	// scope is what a caller's key has to have; "" is a page for everybody.
	scope  accounts.Scope
	do     func(*http.Request, web.Query) (web.Answer, error)
	handle http.HandlerFunc
	// limited is set for a request that counts towards how often an account may
	// submit.
	limited bool
	// streams is set for a request that lasts as long as the client likes: it is
	// counted apart from the others, and sees to its deadlines itself.
	streams bool
	// attended is set for a stream that is of use to its caller alone: it ends with
	// the connection, be it that only the half is closed that is sent on.
	attended bool
	// monitors is set for a request that sees how this process is doing: it is
	// answered however many others are, and while the store is away.
	monitors bool
}

// answered makes a handler of an operation that answers with a value, or with
// an error that becomes a problem. The parameters it may be given are those that
// are documented.
func (s *server) answered(rt route) http.HandlerFunc {
	var parameters []string
	for _, p := range rt.Parameters {
		if p.In == "query" {
			parameters = append(parameters, p.Name)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := web.ParseQuery(r.URL.RawQuery, parameters)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		a, err := rt.do(r, q)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		a.Write(w)
	}
}
