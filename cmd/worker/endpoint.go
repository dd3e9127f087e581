package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

const (
	// Requests have neither body nor large headers, and answers are short.
	requestTimeout   = 5 * time.Second
	idleTimeout      = time.Minute
	maxHeaderBytes   = 8 << 10
	lastAnswerWithin = 5 * time.Second
)

// endpoint is where the worker answers who runs it. Its zero value is none, and
// serves nothing.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// newEndpoint takes the address, which serve answers at; "" is none. It is
// taken early so that a worker that can't have it touches nothing. The error is
// a *sendlimit.InvalidError.
func newEndpoint(ctx context.Context, address string) (*endpoint, error) {
	if address == "" {
		return &endpoint{}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		want := fmt.Sprintf("an address that can be listened at (%v)", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			want = "an address that is free, and another program is listening there: choose another one with --listen, or off"
		}
		return nil, &sendlimit.InvalidError{Field: "listen", Value: address, Want: want}
	}
	return &endpoint{
		listener: listener,
		server: &http.Server{
			ReadTimeout:    requestTimeout,
			WriteTimeout:   requestTimeout,
			IdleTimeout:    idleTimeout,
			MaxHeaderBytes: maxHeaderBytes,
		},
	}, nil
}

// serve answers until shutdown or close; once ctx has ended, that the worker is
// not ready.
func (e *endpoint) serve(ctx context.Context, handler http.Handler, logger *slog.Logger) error {
	if e.server == nil {
		<-ctx.Done()
		return nil
	}
	e.server.Handler = unreadyAfter(ctx, handler)
	e.server.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	logger.InfoContext(ctx, "health endpoint", "url", "http://"+e.listener.Addr().String()+"/healthz")
	if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the health endpoint: %w", err)
	}
	return nil
}

// shutdown ends serve, after the requests that are being answered.
func (e *endpoint) shutdown(ctx context.Context) error {
	if e.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastAnswerWithin)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("ending the health endpoint: %w", err)
	}
	return nil
}

// close gives the address back, whether serve was reached or not.
func (e *endpoint) close() {
	if e.listener != nil {
		_ = e.listener.Close() // serve has closed it already, as a rule
	}
}

// answerJSON answers a request with a status and a value.
func answerJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Who asked and has gone away gets no answer.
	_ = json.NewEncoder(w).Encode(value)
}
