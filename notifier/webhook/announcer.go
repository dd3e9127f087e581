package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// AnnouncerConfig configures an Announcer. Now is required.
type AnnouncerConfig struct {
	// Secret signs the requests, as in Config.
	Secret string
	// AllowInternal allows contacts at internal addresses. Users of the service set contacts, and
	// could reach internal servers that way.
	AllowInternal bool
	// Timeout bounds one attempt, as in Config.
	Timeout time.Duration
	// UserAgent names the sender; empty means DefaultUserAgent.
	UserAgent string
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the signed time.
	Now func() time.Time
}

// Announcer posts notices to https: URLs. Create one with NewAnnouncer.
type Announcer struct{ *poster }

// NewAnnouncer returns an Announcer. The error has a *notifier.InvalidError for each wrong setting.
func NewAnnouncer(c AnnouncerConfig) (*Announcer, error) {
	posts, err := newGuarded(CallbackConfig{
		AllowInternal: c.AllowInternal, Timeout: c.Timeout, UserAgent: c.UserAgent, RootCAs: c.RootCAs, Now: c.Now,
	}, c.Secret)
	if err != nil {
		return nil, err
	}
	return &Announcer{posts}, nil
}

// Announce posts n to a URL once. Without an https: URL, or with a user or a password in it, the
// result is Permanent and nothing is sent.
func (a *Announcer) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	target, err := url.Parse(to)
	if err != nil || !strings.EqualFold(target.Scheme, "https") || target.Hostname() == "" || target.User != nil {
		return notifier.Result{
			Status: notifier.Permanent, Reason: notifier.ReasonMisaddressed,
			Err: errors.New("the contact is not an https: URL without user and password"),
		}
	}
	return a.post(ctx, target.String(), "", notifier.NoticeKey(n.ID), n)
}
