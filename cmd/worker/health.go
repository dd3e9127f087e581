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

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

const (
	// pingTimeout is how long the store may take before the worker counts as
	// unhealthy.
	pingTimeout = time.Second
	// Requests have neither body nor large headers, and answers are short.
	requestTimeout   = 5 * time.Second
	idleTimeout      = time.Minute
	maxHeaderBytes   = 8 << 10
	lastAnswerWithin = 5 * time.Second
)

// health is the endpoint that says whether the worker can do its work. Its
// zero value is none, and serves nothing.
type health struct {
	listener net.Listener
	server   *http.Server
}

// newHealth takes the address, which serve answers at; "" is none. It is taken
// early so that a worker that can't have it touches nothing. The error is a
// *sendlimit.InvalidError.
func newHealth(ctx context.Context, address string) (*health, error) {
	if address == "" {
		return &health{}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		want := fmt.Sprintf("an address that can be listened at (%v)", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			want = "an address that is free, and another program is listening there: choose another one with --listen, or off"
		}
		return nil, &sendlimit.InvalidError{Field: "listen", Value: address, Want: want}
	}
	return &health{
		listener: listener,
		server: &http.Server{
			ReadTimeout:    requestTimeout,
			WriteTimeout:   requestTimeout,
			IdleTimeout:    idleTimeout,
			MaxHeaderBytes: maxHeaderBytes,
		},
	}, nil
}

// serve answers until shutdown or close.
func (h *health) serve(ctx context.Context, client redis.Cmdable, logger *slog.Logger) error {
	if h.server == nil {
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		answerHealth(w, r, client, logger)
	})
	h.server.Handler = mux
	h.server.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelWarn)
	logger.InfoContext(ctx, "health endpoint", "url", "http://"+h.listener.Addr().String()+"/healthz")
	if err := h.server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the health endpoint: %w", err)
	}
	return nil
}

// shutdown ends serve, after the requests that are being answered.
func (h *health) shutdown(ctx context.Context) error {
	if h.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastAnswerWithin)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("ending the health endpoint: %w", err)
	}
	return nil
}

// close gives the address back, whether serve was reached or not.
func (h *health) close() {
	if h.listener != nil {
		_ = h.listener.Close() // serve has closed it already, as a rule
	}
}

func answerHealth(w http.ResponseWriter, r *http.Request, client redis.Cmdable, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
	defer cancel()
	status, word := http.StatusOK, "ok"
	if err := client.Ping(ctx).Err(); err != nil {
		logger.WarnContext(ctx, "the store does not answer", "error", err)
		status, word = http.StatusServiceUnavailable, "unavailable"
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Who asked and has gone away gets no answer.
	_ = json.NewEncoder(w).Encode(map[string]string{"status": word})
}
