package dashboard

import (
	"cmp"
	"encoding/csv"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// pageSize is how many entries a list shows at a time.
const pageSize = 50

const (
	// maxPage is how many entries a download requests at a time.
	maxPage = 1000
	// lookFor is how long empty pages of a filtered list are skipped for one page. Then the page
	// offers to continue.
	lookFor = 40 * time.Millisecond
)

// maxRows bounds a download. Use filters to get the rest.
const maxRows = 100_000

// listing is the common part of all lists: filters, which are in the address, the next page, and a
// download of all entries.
type listing struct {
	path  string
	query url.Values // the filters that are set
	Next  string     // the cursor of the next page; "" for none
	At    string     // the cursor of this page
}

// listingOf returns the listing of a request. Filters are the names that the list knows; from and
// until are times.
func listingOf(r *http.Request, filters ...string) listing {
	given := r.URL.Query()
	l := listing{path: r.URL.Path, query: url.Values{}, At: given.Get("cursor")}
	for _, name := range filters {
		if value := strings.TrimSpace(given.Get(name)); value != "" {
			l.query.Set(name, value)
		}
	}
	for _, name := range []string{"from", "until"} {
		if given := l.query.Get(name); given != "" {
			l.query.Set(name, apiTime(given))
		}
	}
	return l
}

// Names returns the names of the filters that are set.
func (l listing) Names() []string { return slices.Sorted(maps.Keys(l.query)) }

// Get returns a filter.
func (l listing) Get(name string) string { return l.query.Get(name) }

// Filtered reports whether a filter is set.
func (l listing) Filtered() bool { return len(l.query) > 0 }

// Path returns the address of the list without filters.
func (l listing) Path() string { return l.path }

// First returns the address of the first page.
func (l listing) First() string { return withQuery(l.path, l.query) }

// Here returns the address of this page.
func (l listing) Here() string { return l.with("cursor", l.At) }

// Further returns the address of the next page, "" for none.
func (l listing) Further() string {
	if l.Next == "" {
		return ""
	}
	return l.with("cursor", l.Next)
}

// Download returns the address of the download.
func (l listing) Download() string { return l.with("format", "csv") }

func (l listing) with(name, value string) string {
	query := url.Values{}
	maps.Copy(query, l.query)
	if value != "" {
		query.Set(name, value)
	}
	return withQuery(l.path, query)
}

// ends returns the filters from and until, zero times for none.
func (l listing) ends() (from, until time.Time, err error) {
	read := func(name string) (at time.Time, err error) {
		if text := l.Get(name); text != "" {
			at, err = calendar.ParseTime(text, nil)
		}
		return at, fault.InField(err, name)
	}
	from, err = read("from")
	until, wrong := read("until")
	return from, until, cmp.Or(err, wrong)
}

// list is a page with a list of the API.
type list[T any] struct {
	name    string // of the page and of its download
	page    framed
	at      *listing
	entries *[]T
	wrong   *string // what is wrong with a filter; nil for a list that has none
	columns []string
	row     func(T) []string
	read    func(size int) (entries []T, next string, err error)
}

// show answers with the page or the download. It skips empty pages of a filtered list for some
// time.
func (l list[T]) show(d *Dashboard, w http.ResponseWriter, r *http.Request) {
	if wantsCSV(r) {
		d.download(w, r, l.name, l.columns, func() ([][]string, bool, error) {
			entries, next, err := l.read(maxPage)
			l.at.At = next
			rows := make([][]string, len(entries))
			for i, entry := range entries {
				rows[i] = l.row(entry)
			}
			return rows, next != "", err
		})
		return
	}
	for began := d.o.Now(); ; l.at.At = l.at.Next {
		var err error
		*l.entries, l.at.Next, err = l.read(pageSize)
		if err != nil {
			p := problemOf(err)
			if l.wrong == nil || p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusConflict {
				d.showError(w, r, err)
				return
			}
			*l.wrong = p.Sentence()
			d.render(w, r, p.Status, l.name, l.page)
			return
		}
		if len(*l.entries) > 0 || l.at.Next == "" || d.o.Now().Sub(began) > lookFor {
			d.render(w, r, http.StatusOK, l.name, l.page)
			return
		}
	}
}

// wantsCSV reports whether the request is for a download.
func wantsCSV(r *http.Request) bool { return r.URL.Query().Get("format") == "csv" }

// download answers with all entries of a list as CSV. more returns the rows of the next page, and
// whether there may be another one. If that fails after the first row, the download is aborted, so
// that it does not look complete.
func (d *Dashboard) download(w http.ResponseWriter, r *http.Request, name string, columns []string, more func() (rows [][]string, again bool, err error)) {
	rows, again, err := more()
	if err != nil {
		d.showError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	h.Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	out := csv.NewWriter(w)
	_ = out.Write(columns) // out keeps the first error
	for written := 0; ; {
		_ = control.SetWriteDeadline(d.o.Now().Add(streamIdle)) // every connection of a server has deadlines
		for _, row := range rows {
			_ = out.Write(harmless(row))
		}
		out.Flush()
		if written += len(rows); out.Error() != nil || !again || written >= maxRows {
			return
		}
		if who, err := d.find(r); err == nil && !who.Known() && !who.keyless {
			panic(http.ErrAbortHandler) // the session has ended
		}
		if rows, again, err = more(); err != nil {
			d.o.Logger.WarnContext(r.Context(), "a download was aborted", "list", name, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// streamIdle is how long sending a part of a long answer may take.
const streamIdle = 30 * time.Second

// harmless returns cells that no spreadsheet treats as a formula.
func harmless(row []string) []string {
	safe := make([]string, len(row))
	for i, cell := range row {
		if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
			cell = "'" + cell
		}
		safe[i] = cell
	}
	return safe
}

// apiTime returns a time of a form, in UTC, for the API. It returns other texts unchanged, so that
// the API reports their errors.
func apiTime(text string) string {
	text = strings.TrimSpace(text)
	if _, err := calendar.ParseTime(text, nil); err == nil {
		return text // it has a zone
	}
	for _, at := range []string{text, text + " 00:00"} { // a date is its first moment
		if at, err := calendar.ParseTime(at, time.UTC); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	}
	return text
}
