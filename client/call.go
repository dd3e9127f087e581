package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"

	"github.com/sendlimit/sendlimiter/message"
)

const (
	// maxAnswer is the largest size of an answer. Real answers, such as a page of 1,000 messages,
	// are much smaller.
	maxAnswer = 16 << 20
	// maxProblem is the largest size of a problem, and of a line of a stream.
	maxProblem = 1 << 20
)

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
	typeNDJSON  = "application/x-ndjson"
)

var errStalled = errors.New("no answer in time")

// call is a request that can be repeated.
type call struct {
	doing  string // "submit a message", for errors
	method string
	path   string // with names in braces, or escaped
	// segments are the values of the names in the path.
	segments []string
	query    url.Values
	header   http.Header // beside that of every request
	body     any         // nil for none
	text     []byte      // the body as JSON
	// once is set if the API would do a repeated request twice.
	once    bool
	success string // the outcome that an Outcome must have
	or      string // another one; "" for none
}

// do sends a call until there is an answer, and decodes a success into the value that into points
// to. It returns the headers of the answer.
func (c *Client) do(ctx context.Context, what call, into any) (header http.Header, err error) {
	if what, err = what.ready(); err != nil {
		return nil, err
	}
	err = c.repeat(ctx, what, func(ctx context.Context) (failed *failure) {
		ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errStalled)
		defer cancel()
		header, failed = c.try(ctx, what, into)
		return failed
	})
	return header, err
}

func (c *Client) try(ctx context.Context, what call, into any) (http.Header, *failure) {
	response, failed := c.ask(ctx, what)
	if failed != nil {
		return nil, failed
	}
	defer response.Body.Close()
	text, failed := c.read(ctx, response, maxAnswer)
	if failed != nil {
		return nil, failed
	}
	if !is(response, typeJSON) {
		return nil, undocumented(response, "it is not "+typeJSON, nil)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, undocumented(response, "its body does not have the documented form", err)
	}
	return response.Header, nil
}

// ask sends a call once and returns the answer if it is a success. Close its body.
func (c *Client) ask(ctx context.Context, what call) (*http.Response, *failure) {
	var body io.Reader = http.NoBody
	header := http.Header{}
	maps.Copy(header, what.header)
	if what.text != nil {
		body = bytes.NewReader(what.text)
		header.Set("Content-Type", typeJSON)
	}
	return c.send(ctx, what.method, what.address(), header, body)
}

// address returns the path with the query.
func (what call) address() string {
	if len(what.query) == 0 {
		return what.path
	}
	return what.path + "?" + what.query.Encode()
}

// send sends a request and returns the answer if it is a success. It adds the headers of
// every request. Close the body of the answer.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, *failure) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, &failure{err: fmt.Errorf("make the request: %w", bare(err))}
	}
	request.Header = header
	request.Header.Set("Accept", typeJSON+", "+typeNDJSON+", "+typeEvents+", "+typeProblem)
	c.authorize(request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated {
		return response, nil
	}
	defer response.Body.Close()
	return nil, c.problem(ctx, response)
}

// read reads the body of an answer, up to a size.
func (c *Client) read(ctx context.Context, response *http.Response, most int64) ([]byte, *failure) {
	text, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if int64(len(text)) > most {
		return nil, undocumented(response, fmt.Sprintf("it has more than %d bytes", most), nil)
	}
	return text, nil
}

// unreachable returns the failure of a call without a whole answer.
func (c *Client) unreachable(ctx context.Context, err error) *failure {
	err = bare(err)
	dial, is := errors.AsType[*net.OpError](err)
	unsent := is && dial.Op == "dial"
	if cause := context.Cause(ctx); cause != nil {
		err = cause // more precise than "context canceled"
	}
	return &failure{again: true, err: &UnavailableError{
		Code: CodeUnavailable, Detail: fmt.Sprintf("no answer from the API at %s: %v", c.base, err), Err: err, Unsent: unsent,
	}}
}

// bare removes the URL, which contains names of users, from an error.
func bare(err error) error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		return withURL.Err
	}
	return err
}

// problem returns the failure for an answer other than a success.
func (c *Client) problem(ctx context.Context, response *http.Response) *failure {
	var o message.Outcome
	if is(response, typeProblem) {
		text, failed := c.read(ctx, response, maxProblem)
		if failed != nil {
			return failed
		}
		if err := json.Unmarshal(text, &o); err != nil {
			o = message.Outcome{} // go by the status
		}
	}
	id, after := response.Header.Get("X-Request-Id"), retryAfter(response.Header)
	switch status := response.StatusCode; status {
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		if o.Code == "" { // of a proxy
			o.Code, o.Detail = CodeUnavailable, fmt.Sprintf("the API at %s is unavailable: HTTP status %d", c.base, status)
		}
		return &failure{again: true, after: after, err: &UnavailableError{
			Code: o.Code, Detail: o.Detail, RetryAfter: after, RequestID: id,
		}}
	case http.StatusTooManyRequests:
		if o.Code == "" { // of a proxy
			o = Outcome{Outcome: message.Refused, Code: CodeRateLimited}
		}
		refused := refusalOf(o)
		refused.RetryAfter, refused.RequestID = cmp.Or(after, refused.RetryAfter), id
		// A quota of an hour or a day does not reset during the retries.
		return &failure{again: o.Code != CodeQuotaExceeded, after: after, err: refused}
	}
	// not_found without a user, an id and a field means that the API does not know the address. It
	// is another API, so this says nothing about a message.
	elsewhere := o.Code == CodeNotFound && o.User == "" && o.ID == "" && o.Field == ""
	switch {
	case o.Outcome == message.Refused && !elsewhere:
		refused := refusalOf(o)
		refused.RequestID = id
		return &failure{err: refused}
	case o.Outcome == message.Invalid:
		wrong := invalidOf(o)
		wrong.RequestID = id
		return &failure{err: wrong}
	default:
		return &failure{err: &ResponseError{Status: response.StatusCode, Code: o.Code, Detail: o.Detail, RequestID: id}}
	}
}

// undocumented returns the failure for a success that this API does not send. The error does not
// repeat the body, which may come from any server.
func undocumented(response *http.Response, why string, err error) *failure {
	return &failure{err: &ResponseError{
		Status: response.StatusCode, Detail: "the answer is none of this API: " + why, Err: err,
		RequestID: response.Header.Get("X-Request-Id"),
	}}
}

// is reports whether an answer has a media type, with any parameters.
func is(response *http.Response, mediaType string) bool {
	has, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && has == mediaType
}
