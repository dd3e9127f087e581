package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// Answer is the answer of an operation that succeeded.
type Answer struct {
	Status int
	Header http.Header
	Body   any // encoded as JSON
}

// Done returns an answer of 200 with a body.
func Done(body any) Answer { return Answer{Status: http.StatusOK, Body: body} }

// Write sends the answer.
func (a Answer) Write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	writeJSON(w, "application/json", a.Status, a.Body)
}

// WriteUnlessKnown sends the answer, or 304 if the caller has this version already.
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

// usualAnswer is how many bytes most answers take at most.
const usualAnswer = 512

func writeJSON(w http.ResponseWriter, contentType string, status int, body any) {
	text := bytes.NewBuffer(make([]byte, 0, usualAnswer))
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // every body here can be encoded
	h := w.Header()
	values := [...]string{contentType, "no-store", "nosniff", strconv.Itoa(text.Len())} // in one piece of memory
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = values[0:1:1], values[1:2:2], values[2:3:3]
	// With its length a client need not wait for the end, which may be sent later.
	h["Content-Length"] = values[3:4:4]
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // a client that is gone needs no answer
}
