package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	base = "http://localhost" // of the API: a request needs a host, which nobody looks up
	// outlasting is a timeout that leaves it to the API to end slow requests.
	outlasting = time.Hour
)

// newClient returns a client of the API. Its requests come from the caller in their context,
// otherwise from the owner of a key; "" for none.
func (d *Dashboard) newClient(key client.Key) (*client.Client, error) {
	return client.New(base, client.Options{HTTPClient: &http.Client{Transport: inProcess{d}}, Key: key, Attempts: 1, Timeout: outlasting})
}

// inProcess is a transport to the API of this process for the caller in a request's context. It
// needs no key, since the API trusts this process.
type inProcess struct{ *Dashboard }

// RoundTrip lets the API answer a request. Close the body of the answer, which waits for the API.
func (d inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	who := callerOf(r.Context())
	return api.NewInProcess(http.HandlerFunc(d.answer), api.Hand{Identity: who.identity, Operator: who.keyless, Address: who.address, Note: who.note}).RoundTrip(r)
}

// answer lets the API answer. After a change the overview counts again.
func (d inProcess) answer(w http.ResponseWriter, r *http.Request) {
	d.o.API.ServeHTTP(w, r)
	if r.Method != http.MethodGet {
		d.o.Overview.Renew()
	}
}

// apiPath returns the path of an operation. Each name is one segment, even the user "..".
func apiPath(segments ...string) string {
	path := "/v1"
	for _, s := range segments {
		path += "/" + message.PathSegment(s)
	}
	return path
}

// post sends a change whose answer has lines that are forwarded to the browser. Close the body of
// the answer.
func (d *Dashboard) post(r *http.Request, address, kind string, body io.Reader) (*http.Response, error) {
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodPost, base+address, body)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	if kind != "" {
		asked.Header.Set("Content-Type", kind)
	}
	response, err := inProcess{d}.RoundTrip(asked)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	var o message.Outcome
	if err := json.NewDecoder(response.Body).Decode(&o); err != nil {
		return nil, fmt.Errorf("reading a problem of the API with status %d: %w", response.StatusCode, err)
	}
	return nil, problemFrom(o)
}

// forward sends a change whose answer has lines, and forwards them to the browser as they come. A
// problem is shown as everywhere.
func (d *Dashboard) forward(w http.ResponseWriter, r *http.Request, address, kind string, body io.Reader) {
	response, err := d.post(r, address, kind, body)
	if err != nil {
		d.showError(w, r, err)
		return
	}
	defer response.Body.Close()
	h := w.Header()
	h.Set("Content-Type", response.Header.Get("Content-Type"))
	h.Set("X-Request-Id", response.Header.Get("X-Request-Id"))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that collect answers
	control, part := http.NewResponseController(w), make([]byte, 32<<10)
	for {
		n, err := response.Body.Read(part)
		_ = control.SetWriteDeadline(d.o.Now().Add(streamIdle)) // every connection of a server has deadlines
		if _, gone := w.Write(part[:n]); gone != nil || errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that nobody takes it for whole
		}
		_ = control.Flush() // the next write fails as well
	}
}

// first returns the first entries of a list, at most limit, and whether there are more.
func first[T any](list iter.Seq2[T, error], most int) (entries []T, more bool, err error) {
	for entry, err := range list {
		if err != nil || len(entries) == most {
			return entries, err == nil, err
		}
		entries = append(entries, entry)
	}
	return entries, false, nil
}

// last returns the last line of an answer.
func last[T any](lines iter.Seq2[T, error]) (line T, err error) {
	for line, err = range lines {
		if err != nil {
			break
		}
	}
	return line, err
}

// problem is a request that was refused or failed. It is shown to a person.
type problem struct {
	Status  int
	Code    fault.Code
	Detail  string
	Outcome message.Outcome
}

// Error returns the detail.
func (p *problem) Error() string { return p.Sentence() }

// Sentence returns the detail as a sentence for a person.
func (p *problem) Sentence() string {
	if p.Detail == "" {
		return http.StatusText(p.Status)
	}
	if user := p.Outcome.User; user != "" && strings.HasPrefix(p.Detail, user+" ") {
		return user + sentence(strings.TrimPrefix(p.Detail, user)) // a name keeps its spelling
	}
	return sentence(p.Detail)
}

// problemFrom returns an outcome as a problem.
func problemFrom(o message.Outcome) *problem {
	return &problem{Status: api.StatusOf(o.Code), Code: o.Code, Detail: o.Detail, Outcome: o}
}

// problemOf returns an error as a problem. It hides internal details.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	o := message.OutcomeOf(err)
	var coded interface {
		error
		Code() fault.Code
	}
	if refused, ok := errors.AsType[*client.Refusal](err); ok {
		o = refused.Outcome
	} else if wrong, ok := errors.AsType[*client.InvalidError](err); ok {
		o = wrong.Outcome
	} else if away, ok := errors.AsType[*client.UnavailableError](err); ok {
		o.Code, o.Detail = away.Code, away.Detail
	} else if other, ok := errors.AsType[*client.ResponseError](err); ok {
		o.Code, o.Detail = other.Code, other.Detail
	} else if away, ok := errors.AsType[*fault.UnavailableError](err); ok {
		o.Detail = away.Public() // nobody may have logged in
	} else if o.Code == "" && errors.As(err, &coded) {
		o.Code = coded.Code()
	}
	return problemFrom(o)
}

// isNotFound reports whether the API answered 404.
func isNotFound(err error) bool { return err != nil && problemOf(err).Status == http.StatusNotFound }
