package web

import (
	"encoding/json"
	"maps"
	"net/http"
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

func writeJSON(w http.ResponseWriter, contentType string, status int, body any) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	// Every body here can be encoded, and a client that is gone needs no answer.
	_ = encoder.Encode(body)
}
