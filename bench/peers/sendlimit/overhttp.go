package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
	"github.com/sendlimit/sendlimiter/client"
)

// callers is how many connections the client keeps.
const callers = 64

// overHTTP implements side.Product with a sendlimit-worker as a process of its own, which it calls
// through the API, and which delivers to a webhook in this program.
type overHTTP struct {
	program string // path of sendlimit-worker

	worker *exec.Cmd
	client *client.Client
	hook   *http.Server // nil in a submitter
	served sync.WaitGroup
}

// Open implements side.Product.
func (o *overHTTP) Open(ctx context.Context, store string, deliver func(id string) error) (string, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return "", err
	}
	environ := append(os.Environ(), "REDIS_URL="+store, "SENDLIMIT_LISTEN="+address, "SENDLIMIT_LOG_LEVEL=error", "SENDLIMIT_HORIZON="+horizon.String())
	if deliver == nil {
		environ = append(environ, "SENDLIMIT_DELIVER=false")
	} else {
		url, err := o.receive(ctx, deliver)
		if err != nil {
			return "", err
		}
		environ = append(environ, "SENDLIMIT_PUSH_URL="+url)
	}
	o.worker = exec.CommandContext(ctx, o.program)
	o.worker.Env, o.worker.Stderr = environ, os.Stderr
	if err := o.worker.Start(); err != nil {
		return "", fmt.Errorf("start the worker: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers}
	if o.client, err = client.New("http://"+address, client.Options{HTTPClient: &http.Client{Transport: transport}}); err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	return "sendlimit-worker, horizon " + horizon.String() + "; Go client with 64 connections; webhook", o.awaitReady(ctx)
}

// freeAddress returns a free address for the worker.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), nil
}

// receive starts the webhook, and returns its URL.
func (o *overHTTP) receive(ctx context.Context, deliver func(id string) error) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the webhook: %w", err)
	}
	o.hook = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var push struct {
			ID string `json:"id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&push); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := deliver(push.ID); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	o.served.Go(func() {
		if err := o.hook.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "serve the webhook:", err)
		}
	})
	return "http://" + listener.Addr().String(), nil
}

// awaitReady waits until the worker answers.
func (o *overHTTP) awaitReady(ctx context.Context) error {
	const (
		patience = 30 * time.Second
		poll     = 20 * time.Millisecond
	)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if _, err := o.client.Stats(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the worker does not answer")
		case <-time.After(poll):
		}
	}
}

// Submit implements side.Product.
func (o *overHTTP) Submit(ctx context.Context, m side.Message) (bool, error) {
	_, err := o.client.Submit(ctx, client.Message{
		ID: m.ID, User: m.User, SendAt: m.At, Title: side.Title, Body: side.Body,
	})
	if _, refused := errors.AsType[*client.Refusal](err); refused {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("submit: %w", err)
	}
	return true, nil
}

// Pending implements side.Product.
func (o *overHTTP) Pending(ctx context.Context) (int, error) {
	stats, err := o.client.Stats(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the stats: %w", err)
	}
	return stats.Pending, nil
}

// Close implements side.Product.
func (o *overHTTP) Close() error {
	o.client.CloseIdleConnections()
	err := o.worker.Process.Signal(syscall.SIGTERM)
	err = errors.Join(err, o.worker.Wait())
	if o.hook != nil {
		err = errors.Join(err, o.hook.Close())
		o.served.Wait()
	}
	return err
}
