package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

// Options configure the dashboard. All are required except RequireKeys, TrustedProxies, BasePath and
// Stopping.
type Options struct {
	// API answers the requests of pages. It is the API of this process.
	API http.Handler
	// Sessions has the sessions of the dashboard.
	Sessions *session.Sessions
	// Overview has the figures of the overview.
	Overview *overview.Reader
	// Timeline returns the timeline under the store's present rules, for reading.
	Timeline func(context.Context) (*sendlimit.Timeline, error)
	// Now is the local clock, for deadlines, sessions and default times.
	Now     func() time.Time
	Logger  *slog.Logger
	Version string // of the program
	// RequireKeys requires a login. Without it, callers without a login have all rights, as in the
	// API.
	RequireKeys bool
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// BasePath is the path below which browsers reach the dashboard; "" for none. Requests come
	// without it. Links, cookies and redirects have it.
	BasePath string
	// Stopping is closed when the server is about to end, which ends live updates. Nil means never.
	Stopping <-chan struct{}
}

// Dashboard answers requests for pages.
type Dashboard struct {
	o         Options
	assets    assets
	templates map[string]*template.Template
	live      *hub
	api       *client.Client
	pages     http.Handler

	forms, uploads, views *api.Turns // those under way

	stillThere time.Duration // see the constant
}

// New returns the dashboard. The error is a *fault.InvalidError.
func New(o Options) (*Dashboard, error) {
	for _, needed := range []struct {
		field   string
		missing bool
	}{
		{"api", o.API == nil},
		{"sessions", o.Sessions == nil},
		{"overview", o.Overview == nil},
		{"timeline", o.Timeline == nil},
		{"now", o.Now == nil},
		{"logger", o.Logger == nil},
	} {
		if needed.missing {
			return nil, &fault.InvalidError{Field: needed.field, Want: "a value: the dashboard does not work without"}
		}
	}
	d := &Dashboard{
		o: o, stillThere: stillThere, forms: api.NewTurns(maxForms, "form", "forms"), uploads: api.NewTurns(maxUploads, "file", "files"),
		views: api.NewTurns(maxViews, "page", "pages"),
	}
	var err error
	if d.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if d.templates, err = parsePages(d.assets, o.BasePath); err != nil {
		return nil, err
	}
	if d.api, err = d.newClient(""); err != nil {
		return nil, fmt.Errorf("making a client of the API: %w", err)
	}
	d.live = newHub(o.Overview, o.Logger)
	d.pages = d.protected(d.routes())
	return d, nil
}

// ServeHTTP answers a request for a page, a part of a page, or a change.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.pages.ServeHTTP(w, r) }

// Serves reports whether a path is one of the dashboard's.
func (d *Dashboard) Serves(path string) bool {
	_, page := d.paths()[path]
	return page || d.assets.has(path)
}
