package store

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// probeTimeout bounds a look at which protocol a server speaks.
const probeTimeout = time.Second

// protocolError returns the error of a client whose connection failed. It returns another one if
// the server speaks TLS and the client does not, or the other way around. Behind Sentinels it
// can't tell.
func protocolError(ctx context.Context, client redis.UniversalClient, err error) error {
	address, scheme, secured := "", "redis://", false
	switch c := client.(type) {
	case *redis.Client:
		if o := c.Options(); o.Network == "tcp" && o.Addr != failoverAddress {
			address, secured = o.Addr, o.TLSConfig != nil
		}
	case *redis.ClusterClient:
		address, scheme, secured = c.Options().Addrs[0], clusterScheme, c.Options().TLSConfig != nil
	}
	switch {
	case address == "" || ctx.Err() != nil || !silent(err):
	case secured && answersPlain(ctx, address):
		return unfit("the Redis at %s does not speak TLS: use %s", address, scheme)
	case !secured && closed(err) && answersTLS(ctx, address):
		return unfit("the Redis at %s speaks only TLS: use %s", address, strings.Replace(scheme, "redis", "rediss", 1))
	}
	return err
}

// answersPlain reports whether a Redis answers without TLS. It may leave a TLS handshake
// unanswered, since it waits for the end of a line.
func answersPlain(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	reply := make([]byte, 1)
	deadline, _ := ctx.Deadline()
	if err = conn.SetDeadline(deadline); err == nil {
		_, err = conn.Write([]byte("PING\r\n"))
	}
	if err == nil {
		_, err = conn.Read(reply)
	}
	return err == nil && (reply[0] == '+' || reply[0] == '-')
}

// answersTLS reports whether a server speaks TLS, whatever its certificate is.
func answersTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", address)
	if err == nil {
		return conn.Close() == nil
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	alert, _ := errors.AsType[*net.OpError](err)
	return certificate || alert != nil && alert.Op == "remote error"
}
