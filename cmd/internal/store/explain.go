package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// explain is store.Explain for Inspect, with more hints.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, redis.Nil) {
		return unfit("the Sentinels know no master of this name: correct the end of the URL, /MASTER-NAME")
	}
	if notRedis.MatchString(err.Error()) {
		return unfit("a server that is not Redis answers at this address: check host and port")
	}
	if detail := explainTLS(err); detail != "" {
		err = &fault.UnavailableError{Detail: detail, Err: err}
	}
	dial, dialed := errors.AsType[*net.OpError](err)
	if dialed && isLoopback(dial.Addr) && errors.Is(dial, syscall.ECONNREFUSED) {
		err = &fault.UnavailableError{
			Detail: fmt.Sprintf("no Redis at %s: connection refused; start Redis, or leave REDIS_URL out:"+
				" a worker then starts an embedded store for trying", dial.Addr),
			Err: err,
		}
	}
	return fmt.Errorf("looking at the store: %w", store.Explain(err, "asking Redis"))
}

// notRedis matches the client library's error for a reply that Redis would not send: it quotes the
// reply, and the error has no type.
var notRedis = regexp.MustCompile(`redis: (can't parse|invalid reply)[^"]*"[^-+:$*_,#=%~>(!|"]`)

// isLoopback reports whether an address is on this machine, where a person can start Redis.
func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// explainTLS explains why this program and a server do not agree on TLS; "" if that is unknown.
func explainTLS(err error) string {
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate of Redis is not for %q: %v; give the name in the certificate as redis_tls_server_name",
			name.Host, name)
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("the certificate of Redis is not trusted: %v; give the file of that authority as redis_tls_ca", unknown)
	}
	if silent, ok := errors.AsType[*silentError](err); ok {
		return "Redis does not answer to TLS at " + silent.address + ": give its TLS port, or begin the URL with redis://" +
			" (redis-sentinel://, redis-cluster://) if it has none"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "" // store.Explain says it
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return fmt.Sprintf("Redis refuses the TLS connection: %v; if that is about a certificate, give one that it accepts as"+
			" redis_tls_cert and redis_tls_key", op.Err)
	}
	// With TLS too: if the server closes early, its alert about the certificate may be lost.
	if closed(err) {
		return "Redis closed the connection: begin the URL with rediss:// (rediss-sentinel://, rediss-cluster://) if it expects TLS" +
			" at this port, give redis_tls_cert and redis_tls_key if it asks for a certificate, otherwise see its log"
	}
	return ""
}

// closed reports whether the server closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
