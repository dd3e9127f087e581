package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/client"
)

// maxBody is the largest size of a request, in bytes. No order is larger.
const maxBody = 16 << 10

// request is the body of POST and PATCH. PATCH needs no id and customer.
type request struct {
	ID       string    `json:"id"`
	Customer string    `json:"customer"`
	PickUpAt time.Time `json:"pick_up_at"`
	// Shift uses the next free time if the customer can't be reminded at the wanted one.
	Shift bool `json:"shift"`
}

// problem is the body of a refusal or an error.
type problem struct {
	Error      string    `json:"error"`
	NextFreeAt time.Time `json:"next_free_at,omitzero"`
}

// Handler serves the orders:
//
//	POST   /orders       create an order
//	GET    /orders/{id}  show it, and the status of its reminder
//	PATCH  /orders/{id}  change its time
//	DELETE /orders/{id}  cancel it
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.post)
	mux.HandleFunc("GET /orders/{id}", s.get)
	mux.HandleFunc("PATCH /orders/{id}", s.patch)
	mux.HandleFunc("DELETE /orders/{id}", s.remove)
	return mux
}

func (s *Shop) post(w http.ResponseWriter, r *http.Request) {
	asked, ok := read(w, r)
	if !ok {
		return
	}
	if asked.ID == "" || asked.Customer == "" || asked.PickUpAt.IsZero() {
		answer(w, http.StatusUnprocessableEntity, problem{Error: "id, customer and pick_up_at are required"})
		return
	}
	if _, found := s.find(asked.ID); found {
		answer(w, http.StatusConflict, problem{Error: "there is an order " + asked.ID})
		return
	}
	o, err := s.Make(r.Context(), Order{ID: asked.ID, Customer: asked.Customer, PickUpAt: asked.PickUpAt}, asked.Shift)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusCreated, o)
}

func (s *Shop) get(w http.ResponseWriter, r *http.Request) {
	o, found, err := s.Order(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		fail(w, err)
	case !found:
		answer(w, http.StatusNotFound, problem{Error: "there is no such order"})
	default:
		answer(w, http.StatusOK, o)
	}
}

func (s *Shop) patch(w http.ResponseWriter, r *http.Request) {
	asked, ok := read(w, r)
	if !ok {
		return
	}
	o, found := s.find(r.PathValue("id"))
	switch {
	case !found:
		answer(w, http.StatusNotFound, problem{Error: "there is no such order"})
		return
	case asked.PickUpAt.IsZero():
		answer(w, http.StatusUnprocessableEntity, problem{Error: "pick_up_at is required"})
		return
	}
	o, err := s.Move(r.Context(), o, asked.PickUpAt, asked.Shift)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, o)
}

func (s *Shop) remove(w http.ResponseWriter, r *http.Request) {
	o, found := s.find(r.PathValue("id"))
	if found {
		if err := s.Cancel(r.Context(), o); err != nil {
			fail(w, err)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent) // to cancel twice is the same as once
}

// fail answers with the error of sendlimit's API. The client has already retried.
func fail(w http.ResponseWriter, err error) {
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		answer(w, http.StatusConflict, problem{Error: refusal.Detail, NextFreeAt: refusal.NextFreeAt.Time})
		return
	}
	if wrong, ok := errors.AsType[*client.InvalidError](err); ok {
		answer(w, http.StatusUnprocessableEntity, problem{Error: wrong.Detail})
		return
	}
	w.Header().Set("Retry-After", "5")
	answer(w, http.StatusServiceUnavailable, problem{Error: "reminders can't be scheduled now; send the same request again"})
}

func read(w http.ResponseWriter, r *http.Request) (asked request, ok bool) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&asked); err != nil {
		answer(w, http.StatusBadRequest, problem{Error: "the body is no JSON of an order: " + err.Error()})
		return request{}, false
	}
	return asked, true
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller is gone, if it fails
}
