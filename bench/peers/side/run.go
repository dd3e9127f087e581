package side

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Message is a message to schedule, with Title and Body.
type Message struct {
	ID   string
	User string
	At   time.Time
}

// Product is what a side calls.
type Product interface {
	// Open connects to a store, and returns the versions and settings for people to read. A worker gets
	// deliver, which it calls once for each delivery, and delivers until Close. A submitter gets nil.
	Open(ctx context.Context, store string, deliver func(id string) error) (settings string, err error)
	// Submit schedules a message, and returns whether it was accepted. It is called concurrently.
	Submit(ctx context.Context, m Message) (accepted bool, err error)
	// Pending returns how many accepted messages wait.
	Pending(ctx context.Context) (int, error)
	// Close ends deliveries and connections.
	Close() error
}

// Main runs a side until it is told to stop, or its input ends, and returns its exit status.
func Main(product Product) int {
	if err := Run(context.Background(), product, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Run answers the requests of in to out until OpStop.
func Run(ctx context.Context, product Product, in io.Reader, out io.Writer) error {
	s := &session{product: product, out: json.NewEncoder(out)}
	running, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	counting.Go(func() { s.count(running) })
	defer counting.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var request Request
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		reply, err := s.answer(ctx, request)
		reply.Op = request.Op
		if err != nil {
			reply.Error = err.Error()
		}
		if err := s.print(reply); err != nil {
			return err
		}
		if request.Op == OpStop {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	return errors.New("the input ended without a stop")
}

type session struct {
	product              Product
	submitted, delivered atomic.Int64

	mu  sync.Mutex // of out
	out *json.Encoder
}

func (s *session) print(r Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(r); err != nil {
		return fmt.Errorf("print a reply: %w", err)
	}
	return nil
}

// count prints the counters once a second. A line that can't be printed is missed by whoever reads it.
func (s *session) count(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.print(Reply{Op: OpCounters, Submitted: s.submitted.Load(), Delivered: s.delivered.Load()}) != nil {
				return
			}
		}
	}
}

func (s *session) answer(ctx context.Context, r Request) (Reply, error) {
	switch r.Op {
	case OpStart:
		deliver, err := s.deliverer(r)
		if err != nil {
			return Reply{}, err
		}
		settings, err := s.product.Open(ctx, r.Store, deliver)
		return Reply{Settings: settings}, err
	case OpSubmit:
		seconds, err := s.submit(ctx, r)
		return Reply{Seconds: seconds}, err
	case OpStatus:
		pending, err := s.product.Pending(ctx)
		return Reply{Pending: pending}, err
	case OpStop:
		return Reply{}, s.product.Close()
	default:
		return Reply{}, fmt.Errorf("op is %q, not start, submit, status or stop", r.Op)
	}
}

// deliverer returns a function that appends deliveries to a file, each with one write: what a killed
// worker has delivered is in the file.
func (s *session) deliverer(r Request) (func(id string) error, error) {
	switch r.Role {
	case RoleSubmit:
		return nil, nil
	case RoleWork:
	default:
		return nil, fmt.Errorf("role is %q, not submit or work", r.Role)
	}
	file, err := os.OpenFile(r.Deliveries, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the file of deliveries: %w", err)
	}
	return func(id string) error {
		line := append(make([]byte, 0, 64), id...)
		line = append(line, ',')
		line = append(strconv.AppendInt(line, time.Now().UnixMicro(), 10), '\n')
		if _, err := file.Write(line); err != nil {
			return fmt.Errorf("write a delivery: %w", err)
		}
		s.delivered.Add(1)
		return nil
	}, nil
}
