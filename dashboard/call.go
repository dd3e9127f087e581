package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// apiAddress is the path of an operation of the API.
type apiAddress struct{ plain, escaped string }

// apiPath returns the path of an operation. Each name is one segment, whatever it holds: the
// user ".." is no step.
func apiPath(segments ...string) apiAddress {
	var a apiAddress
	a.plain, a.escaped = "/v1", "/v1"
	for _, s := range segments {
		a.plain += "/" + s
		escaped := url.PathEscape(s)
		if s == "." || s == ".." {
			escaped = strings.ReplaceAll(s, ".", "%2E")
		}
		a.escaped += "/" + escaped
	}
	return a
}

// request returns a request to the API on behalf of the caller of r. It needs no key: the API
// trusts this process to know the caller.
func (d *Dashboard) request(r *http.Request, method string, to apiAddress, query url.Values, body io.Reader) *http.Request {
	if body == nil {
		body = http.NoBody
	}
	asked := (&http.Request{
		Method: method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL:  &url.URL{Path: to.plain, RawPath: to.escaped, RawQuery: query.Encode()},
		Host: r.Host, RemoteAddr: r.RemoteAddr, TLS: r.TLS, Header: http.Header{}, Body: io.NopCloser(body),
	}).WithContext(as(r.Context(), ""))
	if forwarded := r.Header.Values("X-Forwarded-For"); len(forwarded) > 0 {
		asked.Header["X-Forwarded-For"] = forwarded
	}
	return asked
}

// as returns a context for a request to the API by the caller of one to the dashboard. The note is
// for the audit log; "" for none.
func as(ctx context.Context, note string) context.Context {
	who := callerOf(ctx)
	return api.As(ctx, api.Hand{Identity: who.identity, Operator: who.keyless, Note: note})
}

// get reads something from the API.
func (d *Dashboard) get(r *http.Request, from apiAddress, query url.Values, into any) error {
	return d.send(d.request(r, http.MethodGet, from, query, nil), into)
}

// call calls an operation of the API with a JSON body; nil for none.
func (d *Dashboard) call(r *http.Request, method string, to apiAddress, query url.Values, body, into any) error {
	return d.callWith(r, method, to, query, nil, body, into)
}

// callWith is call with headers.
func (d *Dashboard) callWith(r *http.Request, method string, to apiAddress, query url.Values, header http.Header, body, into any) error {
	asked, err := d.requestWith(r, method, to, query, body)
	if err != nil {
		return err
	}
	maps.Copy(asked.Header, header)
	return d.send(asked, into)
}

// requestWith returns a request to the API with a JSON body; nil for none.
func (d *Dashboard) requestWith(r *http.Request, method string, to apiAddress, query url.Values, body any) (*http.Request, error) {
	if body == nil {
		return d.request(r, method, to, query, nil), nil
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("writing a request: %w", err)
	}
	asked := d.request(r, method, to, query, bytes.NewReader(encoded))
	asked.Header.Set("Content-Type", "application/json")
	return asked, nil
}

// send sends a request to the API and decodes its answer. The error is a *problem.
func (d *Dashboard) send(asked *http.Request, into any) error {
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	d.asked(answer, asked)
	if answer.status == http.StatusOK || answer.status == http.StatusCreated {
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(answer.body.Bytes(), into); err != nil {
			return fmt.Errorf("reading an answer of the API: %w", err)
		}
		return nil
	}
	return problemIn(answer)
}

// asked has the API answer. After a change the overview counts anew.
func (d *Dashboard) asked(w http.ResponseWriter, asked *http.Request) {
	d.o.API.ServeHTTP(w, asked)
	if asked.Method != http.MethodGet {
		d.o.Overview.Renew()
	}
}

// problemIn returns an answer that is a problem, as a *problem.
func problemIn(answer *recorder) error {
	p := &problem{Status: answer.status}
	if err := json.Unmarshal(answer.body.Bytes(), &p.Outcome); err != nil {
		return fmt.Errorf("reading a problem of the API with status %d: %w", answer.status, err)
	}
	p.Code, p.Detail = p.Outcome.Code, p.Outcome.Detail
	return p
}

// recorder keeps an answer of the API. It is an http.ResponseWriter.
type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

// Header returns the header of the answer.
func (a *recorder) Header() http.Header { return a.header }

// WriteHeader notes the status.
func (a *recorder) WriteHeader(status int) {
	if !a.wrote && status >= http.StatusOK {
		a.wrote, a.status = true, status
	}
}

// Write keeps a part of the body.
func (a *recorder) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}

// Flush, SetReadDeadline, SetWriteDeadline and EnableFullDuplex are what answers of many lines
// need of a connection. There is none here.
func (a *recorder) Flush() {}

// SetReadDeadline does nothing.
func (a *recorder) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (a *recorder) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing.
func (a *recorder) EnableFullDuplex() error { return nil }

// problem is a request that was refused or failed. It is shown to a person.
type problem struct {
	Status  int
	Code    fault.Code
	Detail  string
	Outcome message.Outcome
}

// Error says what was wrong.
func (p *problem) Error() string { return p.Sentence() }

// Sentence returns what was wrong as a sentence for a person.
func (p *problem) Sentence() string {
	if p.Detail == "" {
		return http.StatusText(p.Status)
	}
	if user := p.Outcome.User; user != "" && strings.HasPrefix(p.Detail, user+" ") {
		return user + sentence(strings.TrimPrefix(p.Detail, user)) // a name keeps its spelling
	}
	return sentence(p.Detail)
}

// problemOf returns an error as a problem. Details of what is nobody's business stay away.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	o := message.OutcomeOf(err)
	if away, ok := errors.AsType[*fault.UnavailableError](err); ok {
		o.Detail = away.Public() // nobody may have logged in
	}
	var coded interface {
		error
		Code() fault.Code
	}
	if o.Code == "" && errors.As(err, &coded) {
		o.Code = coded.Code()
	}
	status := http.StatusInternalServerError
	switch {
	case o.Outcome == message.Invalid:
		status = http.StatusUnprocessableEntity
	case o.Code == fault.CodeUnavailable, o.Code == fault.CodeStoreFull:
		status = http.StatusServiceUnavailable
	case o.Code == fault.CodeNotFound:
		status = http.StatusNotFound
	case o.Code == fault.CodeRateLimited:
		status = http.StatusTooManyRequests
	}
	return &problem{Status: status, Code: o.Code, Detail: o.Detail, Outcome: o}
}

// isNotFound reports whether the API knows nothing of what was asked for.
func isNotFound(err error) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Status == http.StatusNotFound
}
