// Order-reminder is the service of a shop that reminds customers of their orders through sendlimit.
// It uses only the standard library and package client. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sendlimit/sendlimiter/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listen := flag.String("listen", "127.0.0.1:9100", "address to listen on")
	api := flag.String("api", "http://127.0.0.1:8080", "URL of the API of sendlimit")
	before := flag.Duration("before", 15*time.Minute, "how long before the pick-up a customer is reminded")
	flag.Parse()
	if *before < time.Second {
		return errors.New("-before takes 1s or more: a reminder expires with the pick-up")
	}
	// The key is a secret, so it is in the environment, which ps does not show.
	reminders, err := client.New(*api, client.Options{Key: client.Key(os.Getenv("API_KEY")), Timeout: 5 * time.Second})
	if err != nil {
		return fmt.Errorf("-api or API_KEY: %w", err)
	}
	defer reminders.CloseIdleConnections()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	shop := NewShop(reminders, *before)
	server := &http.Server{Handler: shop.Handler(), ReadTimeout: 10 * time.Second}

	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { shop.Follow(ctx) })
	// Running requests get their answers before the program ends.
	down := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		down <- server.Shutdown(ending)
	}()
	fmt.Println("listening on http://" + listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-down
}
