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
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// checkStore checks that a worker could start on the store. It writes nothing.
func checkStore(ctx context.Context, c config.Config) checked {
	if c.RedisURL == "" {
		return checked{Name: "store", Target: "embedded", OK: true, Detail: "in the memory of its worker: worker health asks one that runs"}
	}
	result := checked{Name: "store", Target: config.RedactRedisURL(c.RedisURL), status: cli.StatusUnavailable}
	detail, err := lookAtStore(ctx, c)
	if err != nil {
		if problem, ok := errors.AsType[*fault.UnavailableError](err); ok {
			err = errors.New(problem.Detail)
		}
		result.Detail = err.Error()
		return result
	}
	result.OK, result.Detail = true, detail
	return result
}

func lookAtStore(ctx context.Context, c config.Config) (string, error) {
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
	layout, err := redisstore.PresentLayout.Read(ctx, client, c.Prefix)
	if err != nil {
		return "", err
	}
	var found []string
	for _, node := range report.Nodes {
		version, eviction := "embedded", ""
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
		found = append(found, fmt.Sprintf("layout %d, which a worker raises to %d when it starts", layout, redisstore.PresentLayout))
	}
	elsewhere, err := deliveredElsewhere(ctx, client, c)
	if err != nil {
		return "", err
	}
	for _, sentence := range slices.Concat(report.LosesAll(), report.Lagging(), elsewhere) {
		found = append(found, "warning: "+sentence)
	}
	return strings.Join(append(found, report.Warnings...), "; "), nil
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
	last, err := redisstore.ReadAddress(ctx, client, c.Prefix)
	if err != nil || len(last) == 0 || last.SameStore(address) {
		return nil, err
	}
	return []string{fmt.Sprintf("the store was last delivered as %s, so a worker does not deliver it as %s without --store-moved"+
		" or --drop-due-before: see worker run --help", last, address)}, nil
}

// checkEmail connects and logs in to the mail server, and sends nothing.
func checkEmail(ctx context.Context, c config.Config) checked {
	target := c.EmailTarget()
	result := checked{Name: "email", Target: notifier.RedactURL(target), OK: true, status: cli.StatusUnexpected}
	switch target {
	case "":
		result.Target = "email_url"
		result.Detail = "not set: notices to e-mail addresses wait until it is"
		return result
	case config.LogTarget:
		result.Detail = "a line each on standard output"
		return result
	}
	options, err := channels.EmailOptions(c)
	var mails *email.Announcer
	if err == nil {
		mails, err = email.Open(options)
	}
	if err == nil {
		err = mails.Check(ctx)
	}
	if err != nil {
		result.OK, result.Detail = false, err.Error()
		return result
	}
	result.Detail = "ready to take mail"
	if c.EmailURL != "" && strings.Contains(c.EmailURL, "@") {
		result.Detail = "logged in, ready to take mail"
	}
	return result
}

// checkPush connects to the push target, unless that is a service, and sends nothing: a POST
// would be a delivery.
func checkPush(ctx context.Context, c config.Config) checked {
	target := c.PushTarget()
	result := checked{Name: "push", Target: notifier.RedactURL(target), OK: true, status: cli.StatusUnexpected}
	if !c.Deliver {
		result.Detail = "not used: deliver is false"
		return result
	}
	if target == config.LogTarget {
		result.Detail = "a line each on standard output"
		return result
	}
	if service := notifier.ServiceScheme(target); service != "" {
		// Only the library knows which server that is.
		result.Detail = "a URL as " + service + " has it, nothing sent and no connection made"
		return result
	}
	detail, err := connectToPush(ctx, target)
	if err != nil {
		result.OK, result.Detail = false, err.Error()
		return result
	}
	result.Detail = detail
	return result
}

func connectToPush(ctx context.Context, target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", errors.New("the URL can't be read") // err would repeat its secrets
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
func checkChannel(ctx context.Context, c config.Config, d channels.Opened) checked {
	result := checked{Name: d.Name, Target: "credentials", OK: true, status: cli.StatusUnexpected}
	if !c.Deliver {
		result.Detail = "not used: deliver is false"
		return result
	}
	answer := d.Probe(ctx)
	if answer.Status != notifier.Delivered {
		result.OK, result.Detail = false, fmt.Sprintf("%s, %s: %v", answer.Status, answer.Reason, answer.Err)
		return result
	}
	result.Detail = "accepted, nothing sent"
	if d.Name == notifier.ChannelWebPush { // push services judge a key with a push only
		result.Detail = "the key can sign, nothing sent"
	}
	return result
}
