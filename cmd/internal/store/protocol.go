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
// the server is not Redis, or if it speaks TLS and the client does not, or the other way around. Behind
// Sentinels it can't tell.
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
	if address == "" || ctx.Err() != nil || !silent(err) {
		return err
	}
	const tlsAlert = 0x15
	reply, answered := plainReply(ctx, address)
	switch {
	case answered && reply != '+' && reply != '-' && reply != tlsAlert:
		return notRedisAt(address)
	case secured && answered && reply != tlsAlert:
		return unfit("the Redis at %s does not speak TLS: use %s", address, scheme)
	case !secured && !answered && answersTLS(ctx, address):
		return unfit("the Redis at %s speaks only TLS: use %s", address, strings.Replace(scheme, "redis", "rediss", 1))
	}
	return err
}

// plainReply returns the first byte that a server answers to a PING without TLS, if it answers. A Redis
// may leave a TLS handshake unanswered, since it waits for the end of a line.
func plainReply(ctx context.Context, address string) (first byte, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, false
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
	return reply[0], err == nil
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
