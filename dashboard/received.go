package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// What a form may have at most, in bytes.
const (
	maxForm   = 64 << 10  // as a request to the API
	maxKey    = 4 << 10   // an API key, and where to go with it
	maxPolicy = 192 << 10 // what the API accepts, percent-encoded
	maxChosen = 1 << 20   // maxMany dead letters with the longest names
)

// formWithin bounds how long a form may take to come.
const formWithin = 10 * time.Second

// How many forms, files and pages are under way at a time. Those of an account are at most half.
const (
	maxForms   = 64
	maxUploads = 4
	maxViews   = 64
)

// viewed returns a handler of a page, which takes a turn. What follows the store has none: it
// lasts, and its callers are operators.
func (d *Dashboard) viewed(rt route) http.HandlerFunc {
	if rt.open || rt.follows {
		return rt.handle
	}
	return func(w http.ResponseWriter, r *http.Request) {
		leave, err := d.views.Take(callerOf(r.Context()).identity)
		if err != nil {
			d.showError(w, r, err)
			return
		}
		defer leave()
		rt.handle(w, r)
	}
}

// received returns a handler of a form or a file. Its caller is known and may do what the
// route does. It takes a turn, and only then is the body read: a form at once, and a file by
// the handler.
//
// A login takes no turn. It needs no more memory than its connection, and if there were turns,
// those who never end theirs would keep others out.
func (d *Dashboard) received(rt route) http.HandlerFunc {
	turns := d.forms
	if rt.uploads {
		turns = d.uploads
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if !rt.open {
			leave, err := turns.Take(callerOf(r.Context()).identity)
			if err != nil {
				d.showError(w, r, err)
				return
			}
			defer leave()
		}
		if !rt.uploads {
			if err := d.readForm(w, r, rt.most()); err != nil {
				d.showError(w, r, err)
				return
			}
		}
		rt.handle(w, r)
	}
}

// readForm reads the form of a request. Handlers find it in r.PostForm. What is no form, such
// as multipart/form-data, is not read.
func (d *Dashboard) readForm(w http.ResponseWriter, r *http.Request, most int64) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(d.o.Now().Add(formWithin)) // every connection of a server has deadlines
	r.Body = http.MaxBytesReader(w, r.Body, most)
	if err := r.ParseForm(); err != nil {
		return unread(err, fmt.Sprintf("The form has more than %d KB.", most>>10), "The form")
	}
	_ = control.SetReadDeadline(time.Time{})
	return nil
}

// unread returns the problem of a body that could not be read. what names it.
func unread(err error, tooLarge, what string) *problem {
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return &problem{Status: http.StatusRequestEntityTooLarge, Detail: tooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &problem{Status: http.StatusRequestTimeout, Detail: what + " came too slowly: send it again."}
	default:
		return &problem{Status: http.StatusBadRequest, Detail: what + " can't be read, or did not come whole: send it again."}
	}
}
