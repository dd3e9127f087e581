package store

import (
	"context"
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

// explain is store.Explain for Inspect, with more hints. address is the server's; "" if it is unknown.
func explain(err error, address string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, redis.Nil) {
		return unfit("the Sentinels know no master of this name: correct the end of the URL, /MASTER-NAME")
	}
	if notRedis.MatchString(err.Error()) {
		return notRedisAt(address)
	}
	if detail := explainTLS(err, address); detail != "" {
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

// notRedis matches the client library's error for a reply that Redis would not send. It has no type.
var notRedis = regexp.MustCompile(`redis: (can't parse|invalid reply|the length of the array)`)

// notRedisAt returns the error for another server at an address; "" if that is unknown.
func notRedisAt(address string) error {
	return unfit("the server%s is not Redis: check host and port", after(" at ", address))
}

// after returns a word in front of an address; "" if that is unknown.
func after(word, address string) string {
	if address == "" || address == theMaster {
		return ""
	}
	return word + address
}

// unknownCommand reports whether a server does not know a command. It may be renamed.
func unknownCommand(err error) bool { return redis.HasErrorPrefix(err, "unknown command") }

// isLoopback reports whether an address is on this machine, where a person can start Redis.
func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// explainTLS explains why this program and a server do not agree on TLS, or why a server does not
// answer; "" if that is unknown.
func explainTLS(err error, address string) string {
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
		return "the server" + after(" at ", address) + " closed the connection: check that it is Redis; begin the URL with rediss:// (rediss-sentinel://, rediss-cluster://) if it expects TLS" +
			" at this port, give redis_tls_cert and redis_tls_key if it asks for a certificate, otherwise see its log"
	}
	if dial, dialed := errors.AsType[*net.OpError](err); timedOut(err) && (!dialed || dial.Op != "dial") {
		return "the server" + after(" at ", address) + " accepts connections and does not answer: check that it is Redis, and see its log"
	}
	return ""
}

func timedOut(err error) bool {
	slow, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && slow.Timeout()
}

// closed reports whether the server closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
