package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

//go:embed pages/*.html
var pageFiles embed.FS

// page has the common data of all pages. Pages embed it.
type page struct {
	Title   string
	Path    string // of the page, without its query
	Who     caller
	Now     time.Time
	Version string
	Said    *said // what the last change came to; nil for none
	Script  string
	Menu    []menuGroup
	Trail   []navLink // the way to the page, without itself
	Sought  string    // in the field for the search
	Stopped *stopped  // nil unless all sending is stopped
}

// page returns the common data of a page.
func (d *Dashboard) page(r *http.Request, title string) page {
	p := page{Title: title, Path: r.URL.Path, Who: callerOf(r.Context()), Now: d.o.Now().UTC(), Version: d.o.Version}
	if p.Who.Known() || p.Who.keyless {
		p.Menu, p.Trail = menuOf(p.Who, r.URL.Path)
		p.Stopped = d.sendingStop(r.Context(), p.Who)
	}
	return p
}

// setSaid sets the sentence about the last change.
func (p *page) setSaid(s *said) { p.Said = s }

// parsePages reads the templates of all pages, by name. Links of the pages are made to begin with
// the base path.
func parsePages(a assets, basePath string) (map[string]*template.Template, error) {
	below := strings.NewReplacer(`data-base=""`, `data-base="`+basePath+`"`,
		`href="/`, `href="`+basePath+`/`, `href="{{`, `href="`+basePath+`{{`, `action="/`, `action="`+basePath+`/`,
		`action="{{`, `action="`+basePath+`{{`, `src="{{`, `src="`+basePath+`{{`)
	parse := func(frame *template.Template, file string) (*template.Template, error) {
		text, err := pageFiles.ReadFile("pages/" + file)
		if err != nil {
			return nil, fmt.Errorf("reading the page %s: %w", file, err)
		}
		if frame, err = frame.Parse(below.Replace(string(text))); err != nil {
			return nil, fmt.Errorf("parsing the page %s: %w", file, err)
		}
		return frame, nil
	}
	base, err := parse(template.New("base.html").Funcs(functions(a)), "base.html")
	if err != nil {
		return nil, err
	}
	if base, err = parse(base.New("parts.html"), "parts.html"); err != nil {
		return nil, err
	}
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		return nil, fmt.Errorf("listing pages: %w", err)
	}
	pages := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file.Name()), ".html")
		if name == "base" || name == "parts" {
			continue
		}
		frame, err := base.Clone()
		if err != nil {
			return nil, fmt.Errorf("copying the frame of pages: %w", err)
		}
		if pages[name], err = parse(frame.New(file.Name()), file.Name()); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// contentSecurityPolicy allows nothing inline and nothing from other servers.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// setHeaders sets the headers of every answer.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// framed is a page with its common data.
type framed interface{ setSaid(said *said) }

// render answers with a page, which is complete before a byte is sent.
func (d *Dashboard) render(w http.ResponseWriter, r *http.Request, status int, name string, content framed) {
	if s := d.takeSaid(w, r); s != nil {
		content.setSaid(s)
	}
	var text bytes.Buffer
	if err := d.templates[name].ExecuteTemplate(&text, "base.html", content); err != nil {
		d.o.Logger.ErrorContext(r.Context(), "could not make a page", "page", name, "error", err)
		http.Error(w, "This page could not be created. See the log for the reason.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // a browser that is gone needs no page
}

// errorPage shows an error.
type errorPage struct {
	page

	Status  int
	Problem *problem
}

// showError answers a refused or failed request.
func (d *Dashboard) showError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody waits for it
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		d.o.Logger.ErrorContext(r.Context(), "a request to the dashboard failed", "page", r.URL.Path, "error", err)
		p = &problem{Status: p.Status, Code: fault.CodeInternal, Detail: "An internal error. See the log for details."}
	}
	if p.Status == http.StatusServiceUnavailable {
		d.o.Logger.Log(r.Context(), slog.LevelDebug, "the store does not answer", "page", r.URL.Path, "error", err)
		w.Header().Set("Retry-After", "2")
	}
	if p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if wantsJSON(r) {
		d.answerProblem(w, p)
		return
	}
	title := map[int]string{
		http.StatusNotFound: "Not found", http.StatusForbidden: "Not allowed", http.StatusUnauthorized: "Log in",
		http.StatusServiceUnavailable: "Not available", http.StatusInternalServerError: "Something went wrong",
	}[p.Status]
	if title == "" {
		title = "Not done"
	}
	d.render(w, r, p.Status, "error", &errorPage{page: d.page(r, title), Status: p.Status, Problem: p})
}

// wantsJSON reports whether a script sent the request.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// withQuery returns a path with a query, or only the path if the query is empty.
func withQuery(path string, query url.Values) string {
	if encoded := query.Encode(); encoded != "" {
		return path + "?" + encoded
	}
	return path
}
