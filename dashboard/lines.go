package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// answerLine is what is read of a line of an answer that has many.
type answerLine struct {
	message.Outcome

	Messages int `json:"messages"`
	Done     int `json:"done"`
	Refused  int `json:"refused"`
}

// lines calls an operation that answers with lines, and returns them once it has ended. A last
// line that says why it stopped early is a *problem. Use it where there are few.
func (d *Dashboard) lines(r *http.Request, method string, to apiAddress, query url.Values, body any) ([]answerLine, error) {
	asked, err := d.requestWith(r, method, to, query, body)
	if err != nil {
		return nil, err
	}
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	d.asked(answer, asked)
	if answer.status != http.StatusOK {
		return nil, problemIn(answer)
	}
	var lines []answerLine
	decoder := json.NewDecoder(&answer.body)
	for {
		var line answerLine
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return lines, nil
		} else if err != nil {
			return lines, fmt.Errorf("reading the lines of an answer: %w", err)
		}
		if line.Outcome.Outcome == message.Errored {
			return lines, &problem{Status: http.StatusServiceUnavailable, Code: line.Code, Detail: line.Detail, Outcome: line.Outcome}
		}
		lines = append(lines, line)
	}
}

// forward calls an operation that answers with lines, and hands its answer to the browser as it
// comes. A problem is shown as everywhere.
func (d *Dashboard) forward(w http.ResponseWriter, r, asked *http.Request) {
	passed := &forwarded{ResponseWriter: w}
	d.asked(passed, asked)
	if passed.problem.status != 0 {
		d.showError(w, r, problemIn(&passed.problem))
	}
}

// forwarded hands an answer of the API to the browser, without the headers that are the
// dashboard's own. It keeps a problem.
type forwarded struct {
	http.ResponseWriter

	header  http.Header
	status  int
	problem recorder
}

// Header returns the header that the API sets.
func (f *forwarded) Header() http.Header {
	if f.header == nil {
		f.header = http.Header{}
	}
	return f.header
}

// WriteHeader sends the status with the kind of the answer.
func (f *forwarded) WriteHeader(status int) {
	if status < http.StatusOK || f.status != 0 {
		return
	}
	f.status = status
	if status != http.StatusOK {
		f.problem.status = status
		return
	}
	h := f.ResponseWriter.Header()
	for _, name := range []string{"Content-Type", "Retry-After", "X-Request-Id"} {
		if values := f.Header().Values(name); len(values) > 0 {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	h.Set("Cache-Control", "no-store")
	f.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (f *forwarded) Write(b []byte) (int, error) {
	if f.status == 0 {
		f.WriteHeader(http.StatusOK)
	}
	if f.problem.status != 0 {
		return f.problem.Write(b)
	}
	return f.ResponseWriter.Write(b)
}

// SetReadDeadline does nothing: the body of the request to the API is in memory.
func (f *forwarded) SetReadDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing, for the same reason.
func (f *forwarded) EnableFullDuplex() error { return nil }

// Unwrap returns the writer for http.ResponseController.
func (f *forwarded) Unwrap() http.ResponseWriter { return f.ResponseWriter }
