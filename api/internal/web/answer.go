package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync"
)

// Answer is the answer of an operation that succeeded.
type Answer struct {
	Status   int
	Header   http.Header
	Location string // of what was made; "" for none
	Body     any    // encoded as JSON
}

// Done returns an answer of 200 with a body.
func Done(body any) Answer { return Answer{Status: http.StatusOK, Body: body} }

// Write sends the answer.
func (a Answer) Write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	if a.Location != "" {
		w.Header()["Location"] = []string{a.Location}
	}
	WriteJSON(w, "application/json", a.Status, a.Body)
}

// WriteUnlessKnown sends the answer, or 304 if the caller already has this version.
func (a Answer) WriteUnlessKnown(w http.ResponseWriter, r *http.Request) {
	tag := a.Header.Get("ETag")
	if tag == "" || !Known(r, tag) {
		a.Write(w)
		return
	}
	maps.Copy(w.Header(), a.Header)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotModified)
}

// encoder encodes one body at a time.
type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

// encoders has encoders that are not in use.
//
//nolint:globals // a pool has no state that anybody sees
var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKept is the largest size of a buffer that is reused.
const maxKept = 16 << 10

// release makes the encoder available again, unless its buffer has become large.
func (e *encoder) release() {
	if e.text.Cap() <= maxKept {
		e.text.Reset()
		encoders.Put(e)
	}
}

// WriteJSON answers with a media type and a body that can be encoded.
func WriteJSON(w http.ResponseWriter, contentType string, status int, body any) {
	e, _ := encoders.Get().(*encoder)
	defer e.release()
	_ = e.json.Encode(body) // every body here can be encoded
	text := &e.text
	h := w.Header()
	values := [...]string{contentType, "no-store", "nosniff", strconv.Itoa(text.Len())} // in one piece of memory
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = values[0:1:1], values[1:2:2], values[2:3:3]
	// With its length, a client does not wait for the end, which may be sent later.
	h["Content-Length"] = values[3:4:4]
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // a client that is gone needs no answer
}
