package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// look is a server to try.
type look struct {
	name, target string // target is without secrets
	status       int    // exit status if it fails
	// try returns a description of the result.
	try func(ctx context.Context) (detail string, err error)
}

// looksAt returns the servers of the settings.
func looksAt(c config.Config, opened []channels.Opened) []look {
	on, mail := "embedded", "email_url"
	if c.RedisURL != "" {
		on = config.RedactRedisURL(c.RedisURL)
	}
	if c.EmailTarget() != "" {
		mail = notifier.RedactURL(c.EmailTarget())
	}
	looks := []look{
		{"store", on, cli.StatusUnavailable, func(ctx context.Context) (string, error) { return checkStore(ctx, c) }},
		{"email", mail, cli.StatusUnexpected, func(ctx context.Context) (string, error) { return checkEmail(ctx, c) }},
	}
	if target := c.PushTarget(); target != "" {
		looks = append(looks, look{"push", notifier.RedactURL(target), cli.StatusUnexpected, func(ctx context.Context) (string, error) { return checkPush(ctx, c) }})
	}
	for _, d := range opened {
		looks = append(looks, look{d.Name, "credentials", cli.StatusUnexpected, func(ctx context.Context) (string, error) { return checkChannel(ctx, c, d) }})
	}
	return looks
}

// checkStore checks that a worker could start on the store. It writes nothing.
func checkStore(ctx context.Context, c config.Config) (string, error) {
	if c.RedisURL == "" {
		return "in the memory of its worker: see sendlimit-worker health", nil
	}
	client, err := store.Open(c.RedisURL, store.Options{Logger: slog.New(slog.DiscardHandler), TLS: c.RedisTLS})
	if err != nil {
		return "", err
	}
	defer client.Close()
	report, err := store.Inspect(ctx, client)
	if err != nil {
		return "", err
	}
	if err := report.RefuseEviction(); err != nil {
		return "", err
	}
	layout, err := redisstore.PresentLayout.Read(ctx, client, keyspace.KeysUnder(c.Prefix))
	if err != nil {
		return "", err
	}
	var found []string
	for _, node := range report.Nodes {
		version, eviction := "a Redis of unknown version", ""
		if node.Version != "" {
			version = "Redis " + node.Version
		}
		if node.Eviction != "" {
			eviction = ", " + node.Eviction
		}
		found = append(found, fmt.Sprintf("%s at %s%s", version, node.Address, eviction))
	}
	found = append(found, "takes writes")
	switch layout {
	case 0:
		found = append(found, "new, no worker has started on it")
	case redisstore.PresentLayout:
		found = append(found, fmt.Sprintf("layout %d", layout))
	default:
		found = append(found, fmt.Sprintf("layout %d, which a worker raises to %d at its start", layout, redisstore.PresentLayout))
	}
	elsewhere, err := deliveredElsewhere(ctx, client, c)
	if err != nil {
		return "", err
	}
	newest, err := redisstore.ReadZones(ctx, client, keyspace.KeysUnder(c.Prefix))
	if err != nil {
		return "", err
	}
	if older := store.OlderZones(newest); older != "" {
		elsewhere = append(elsewhere, older)
	}
	if ahead, err := store.ReadClockAhead(ctx, client); err == nil && store.ClockAhead(ahead) != "" {
		elsewhere = append(elsewhere, store.ClockAhead(ahead))
	}
	for _, sentence := range slices.Concat(report.Warnings, report.LosesAll(), report.LosesLatest(), report.Lagging(), elsewhere) {
		found = append(found, "warning: "+sentence)
	}
	return strings.Join(found, "; "), nil
}

// deliveredElsewhere returns a sentence if a worker with these settings would not deliver, since
// the store was last delivered under another address.
func deliveredElsewhere(ctx context.Context, client redis.Cmdable, c config.Config) ([]string, error) {
	if !c.Deliver {
		return nil, nil
	}
	address, err := store.AddressOf(c.RedisURL)
	if err != nil {
		return nil, err
	}
	last, err := redisstore.ReadAddress(ctx, client, keyspace.KeysUnder(c.Prefix))
	if err != nil || len(last) == 0 || last.SameStore(address) {
		return nil, err
	}
	return []string{fmt.Sprintf("the store was last delivered as %s, so a worker does not deliver it as %s without --store-moved"+
		" or --drop-due-before: see sendlimit-worker run --help", last, address)}, nil
}

// checkEmail connects and logs in to the mail server, and sends nothing.
func checkEmail(ctx context.Context, c config.Config) (string, error) {
	switch c.EmailTarget() {
	case "":
		return "not set: alerts to e-mail addresses wait until it is", nil
	case config.LogTarget:
		return "a line each on standard output", nil
	}
	options, err := channels.EmailOptions(c)
	if err != nil {
		return "", err
	}
	mails, err := email.Open(options)
	if err == nil {
		err = mails.Check(ctx)
	}
	if err == nil && c.EmailURL != "" && strings.Contains(c.EmailURL, "@") {
		return "logged in, ready for mail", nil
	}
	return "ready for mail", err
}

// checkPush connects to the push target, unless it is a service, and sends nothing: a POST would be
// a delivery.
func checkPush(ctx context.Context, c config.Config) (string, error) {
	target := c.PushTarget()
	service := notifier.ServiceScheme(target)
	switch {
	case !c.Deliver:
		return "not used: deliver is false", nil
	case target == config.LogTarget:
		return "a line each on standard output", nil
	case service != "":
		return "URL of the service " + service + ", nothing sent and no connection made", nil // only the library knows which server that is
	}
	return connectToPush(ctx, target)
}

func connectToPush(ctx context.Context, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", errors.New("invalid URL") // err would repeat its secrets
	}
	secured := strings.EqualFold(u.Scheme, "https")
	port := u.Port()
	switch {
	case port == "" && secured:
		port = "443"
	case port == "":
		port = "80"
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if !secured {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return "", fmt.Errorf("connecting: %w", err)
		}
		_ = conn.Close()
		return "connected, nothing sent", nil
	}
	conn, err := new(tls.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("connecting with TLS: %w", err)
	}
	_ = conn.Close()
	return "connected with TLS, nothing sent", nil
}

// checkChannel asks a provider whether it accepts the credentials.
func checkChannel(ctx context.Context, c config.Config, d channels.Opened) (string, error) {
	if !c.Deliver {
		return "not used: deliver is false", nil
	}
	answer := d.Probe(ctx)
	switch {
	case answer.Status != notifier.Delivered:
		return "", errors.New(fmt.Sprint(answer.Status, ", ", answer.Reason, ": ", answer.Err))
	case d.Name == notifier.ChannelWebPush: // push services judge a key with a push only
		return "the key can sign, nothing sent", nil
	default:
		return "accepted, nothing sent", nil
	}
}
