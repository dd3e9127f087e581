package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Explain wraps an error of the Redis client with what was being done, such as "reserving a place".
// If the store failed, the chain contains an *UnavailableError. Other errors, such as that of a
// cancelled context, are only wrapped. Nil stays nil.
func Explain(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*fault.UnavailableError](err); done {
		return fmt.Errorf("%s: %w", doing, err)
	}
	detail := describeReply(err)
	if detail == "" {
		detail = describeConnection(err)
	}
	if detail == "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: detail, Full: redis.IsOOMError(err), Err: err,
	})
}

// MayBeDone is fault.MayBeDone.
const MayBeDone = fault.MayBeDone

// describeReply returns what an error reply of the server means; "" if it is not about the store.
func describeReply(err error) string {
	switch {
	case redis.HasErrorPrefix(err, "WRONGPASS"):
		return "Redis refuses the user or password: correct them in the URL, redis://USER:PASSWORD@HOST:PORT"
	case redis.IsAuthError(err):
		return "Redis wants a password: put it in the URL, redis://:PASSWORD@HOST:PORT"
	case redis.IsLoadingError(err):
		return "Redis is still loading its data: try again in a moment"
	case redis.IsReadOnlyError(err):
		return "Redis is a read-only replica: give the address of its master"
	case redis.IsOOMError(err):
		return "Redis is full: raise its maxmemory, or wait until messages are delivered and their records expire"
	case redis.IsMaxClientsError(err):
		return "Redis has no connection left: raise its maxclients or close other clients"
	case redis.HasErrorPrefix(err, "MOVED "), redis.HasErrorPrefix(err, "ASK "), redis.IsTryAgainError(err), IsMoving(err):
		return "the Redis Cluster is moving keys from one master to another: try again in a moment"
	case redis.IsClusterDownError(err), isDownInScript(err):
		return "the Redis Cluster is down or incomplete: see CLUSTER INFO on one of its nodes"
	case redis.IsMasterDownError(err):
		return "Redis is a replica that has lost its master: give the address of a master"
	case redis.IsNoReplicasError(err):
		return "Redis refuses writes, because it has fewer replicas than min-replicas-to-write: start them, or lower that setting"
	case redis.HasErrorPrefix(err, "MISCONF"):
		return "Redis refuses writes, because it can't save to disk: see its log"
	case redis.HasErrorPrefix(err, "BUSY "):
		return "Redis is busy with a long script: try again in a moment"
	}
	return ""
}

// IsMoving reports whether a script stopped, before it wrote anything, because Redis is moving its
// keys from one master of a cluster to another.
func IsMoving(err error) bool {
	return isReplyWith(err, "Script attempted to access a non local key in a cluster node")
}

// isDownInScript reports whether a script stopped because the cluster went down.
func isDownInScript(err error) bool {
	return isReplyWith(err, "Script attempted to execute a command while the cluster is down") ||
		isReplyWith(err, "Script attempted to execute a write command while the cluster is down")
}

// isReplyWith reports whether an error is a reply of Redis that contains a text. Redis writes the
// name of the script before or after the text, depending on its version.
func isReplyWith(err error, text string) bool {
	reply, ok := errors.AsType[redis.Error](err)
	return ok && strings.Contains(reply.Error(), text)
}

// describeConnection returns what is wrong with the connection; "" if that is unknown.
func describeConnection(err error) string {
	if errors.Is(err, context.Canceled) {
		return "" // the caller gave up: that says nothing about the store
	}
	if away, ok := errors.AsType[*NodeAwayError](err); ok {
		detail := fmt.Sprintf("Redis at %s, a node of the cluster, does not answer: check that it runs;"+
			" keys on other nodes can still be used", away.Address)
		if away.Sent {
			detail += MayBeDone
		}
		return detail
	}
	// A failure to connect comes first: it may carry a deadline too, but nothing was sent.
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		address := ""
		if op.Addr != nil {
			address = " at " + op.Addr.String()
		}
		return fmt.Sprintf("no Redis%s: %s; check that it runs and that the address is right", address, dialReason(op))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return fmt.Sprintf("Redis refuses the TLS connection: %v", op.Err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("no Redis found: %s; check the host name", dnsReason(dns))
	}
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &record):
		return "Redis does not speak TLS on this port: use redis:// or the TLS port"
	case errors.As(err, &certificate):
		return fmt.Sprintf("the certificate of Redis is not trusted: %v", certificate.Err)
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return "every connection to Redis was busy for too long: lower the load or raise the pool's size"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "Redis did not answer in time" + MayBeDone
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "Redis closed the connection" + MayBeDone
	}
	return ""
}

// dialReason returns why the connection failed, without the address and the system call that Go's
// text repeats.
func dialReason(op *net.OpError) string {
	if dns, ok := errors.AsType[*net.DNSError](op.Err); ok {
		return dnsReason(dns)
	}
	if op.Timeout() {
		return "no answer"
	}
	if errno, ok := errors.AsType[syscall.Errno](op.Err); ok {
		return errno.Error()
	}
	return op.Err.Error()
}

func dnsReason(err *net.DNSError) string {
	if err.IsNotFound {
		return fmt.Sprintf("the host %q does not exist", err.Name)
	}
	return fmt.Sprintf("the host %q can't be looked up", err.Name)
}
