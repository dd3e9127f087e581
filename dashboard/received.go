package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// The most bytes of a form.
const (
	maxForm   = 64 << 10  // as a request to the API
	maxKey    = 4 << 10   // an API key, and where to go with it
	maxPolicy = 192 << 10 // what the API accepts, percent-encoded
	maxChosen = 1 << 20   // maxMany messages with the longest names
)

// formWithin bounds how long a form takes to arrive.
const formWithin = 10 * time.Second

// How many forms, files and pages run at a time. An account may have half of them.
const (
	maxForms   = 64
	maxUploads = 4
	maxViews   = 64
)

// viewed returns a handler of a page, which takes a turn. Live updates take none: they last, and
// their callers are operators.
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

// received returns a handler of a form or a file. Its caller is known and may do what the route
// does. It takes a turn, and only then is the body read: a form at once, and a file by the handler.
//
// A login takes no turn. It needs no more memory than its connection, and callers who never finish
// would keep others out.
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

// readForm reads the form of a request. Handlers find it in r.PostForm. It does not read other
// bodies, such as multipart/form-data.
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
		return &problem{Status: http.StatusRequestTimeout, Detail: what + " arrived too slowly: send it again."}
	default:
		return &problem{Status: http.StatusBadRequest, Detail: what + " is invalid or incomplete: send it again."}
	}
}
