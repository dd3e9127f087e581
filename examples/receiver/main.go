// Receiver is an example of a webhook's receiver: it verifies the signature, handles each message
// once, and answers so that nothing is lost. Point push_url at it:
//
//	WEBHOOK_SECRET=whsec_… go run ./examples/receiver -listen 127.0.0.1:9000 -journal messages.jsonl
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
	"syscall"
	"time"
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
	listen := flag.String("listen", "127.0.0.1:9000", "address to listen on")
	journal := flag.String("journal", "messages.jsonl", "file that gets a line for each message")
	flag.Parse()
	receiver, err := Open(*journal, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: receiver, ReadTimeout: 10 * time.Second}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println("listening on http://" + listener.Addr().String())
	// Running requests get their answers before the program ends.
	down := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		down <- server.Shutdown(ending)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, receiver.Close())
	}
	return errors.Join(<-down, receiver.Close())
}
