package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	headerTimeout = 5 * time.Second // to read the headers of a request
	// bodyTimeout bounds reading a request, and answerTimeout all until its answer,
	// unless its handler sets other deadlines.
	bodyTimeout    = 30 * time.Second
	answerTimeout  = 35 * time.Second
	idleTimeout    = time.Minute // between requests of a connection
	maxHeaderBytes = 16 << 10
)

// endpoint is an address that answers HTTP. The zero value serves nothing.
type endpoint struct {
	listener    net.Listener
	server      *http.Server
	bodyTimeout time.Duration // see the constant
	announce    announcement
}

// announcement logs what an endpoint serves below its URL, which has no path.
type announcement func(ctx context.Context, base string, logger *slog.Logger)

// newEndpoint listens at the address of a setting; "" means none. It is called early, so that a
// worker without its address touches nothing. secured makes it serve TLS, unless it is nil. The
// error is a *fault.InvalidError.
func newEndpoint(ctx context.Context, setting, address string, secured *tls.Config, announce announcement) (*endpoint, error) {
	if address == "" {
		return &endpoint{}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fault.Wrong(setting, "%s is in use: another program listens there; choose another address with --%s, or off",
				address, strings.ReplaceAll(setting, "_", "-"))
		}
		return nil, fault.Wrong(setting, "can't listen at %s: %v", address, err)
	}
	return &endpoint{
		listener:    listener,
		bodyTimeout: bodyTimeout,
		announce:    announce,
		server: &http.Server{
			ReadHeaderTimeout: headerTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			// The API answers OPTIONS too, with a problem.
			DisableGeneralOptionsHandler: true,
			TLSConfig:                    secured,
		},
	}, nil
}

// serve answers until shutdown or close.
func (e *endpoint) serve(ctx context.Context, handler http.Handler, logger *slog.Logger) error {
	if e.server == nil {
		<-ctx.Done()
		return nil
	}
	e.server.Handler = timed(answerFirst(handler), e.bodyTimeout)
	e.server.ErrorLog = slog.NewLogLogger(&handshakes{Handler: logger.Handler(), now: time.Now}, slog.LevelWarn)
	scheme, serve := "http://", e.server.Serve
	if e.server.TLSConfig != nil {
		scheme, serve = "https://", func(l net.Listener) error { return e.server.ServeTLS(l, "", "") }
	}
	base := scheme + e.listener.Addr().String()
	e.announce(ctx, base, logger)
	if err := serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// timed bounds how long requests take. It sets deadlines, which a handler can extend,
// unlike the server's own timeouts.
func timed(next http.Handler, bodyTimeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control, now := http.NewResponseController(w), time.Now()
		_ = control.SetReadDeadline(now.Add(bodyTimeout)) // every connection of a server has deadlines
		_ = control.SetWriteDeadline(now.Add(answerTimeout))
		next.ServeHTTP(w, r)
	})
}

// shutdown ends serve after the running requests. If ctx ends first, it closes their
// connections.
func (e *endpoint) shutdown(ctx context.Context, logger *slog.Logger) error {
	if e.server == nil {
		return nil
	}
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		logger.WarnContext(ctx, "requests that took too long were aborted")
		err = e.server.Close()
	}
	if err != nil {
		return fmt.Errorf("closing the server at %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// close releases the address, also if serve was never called.
func (e *endpoint) close() {
	if e.listener != nil {
		_ = e.listener.Close() // usually serve has closed it already
	}
}
