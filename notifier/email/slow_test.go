package email_test

import (
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// slowServer is a mail server that calls before with each step before it answers it:
// "greeting", "EHLO", "MAIL", "RCPT", "DATA", "end" and "QUIT". It closes the connection
// instead of answering if before returns false.
type slowServer struct {
	listens net.Listener
	before  func(step string) bool
	refuses string // the step that it refuses

	mu    sync.Mutex
	steps []string
}

func serveSlowly(t *testing.T, before func(step string) bool) *slowServer {
	t.Helper()
	return serveRefusing(t, before, "")
}

func serveRefusing(t *testing.T, before func(step string) bool, refuses string) *slowServer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &slowServer{listens: listener, before: before, refuses: refuses}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return s
}

func (s *slowServer) serve(conn net.Conn) {
	defer conn.Close()
	text := textproto.NewConn(conn)
	answer := func(step, line string) bool {
		s.mu.Lock()
		s.steps = append(s.steps, step)
		s.mu.Unlock()
		if step == s.refuses {
			line = "550 refused"
		}
		return (s.before == nil || s.before(step)) && text.PrintfLine("%s", line) == nil
	}
	for ok := answer("greeting", "220 slow"); ok; {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		switch command, _, _ := strings.Cut(line, " "); command {
		case "DATA":
			if ok = answer(command, "354 go on"); !ok || s.refuses == command {
				break
			}
			if _, err := text.ReadDotBytes(); err != nil {
				return
			}
			ok = answer("end", "250 accepted")
		case "QUIT":
			_ = answer(command, "221 bye")
			return
		default:
			ok = answer(command, "250 ok")
		}
	}
}

// seen are the steps so far.
func (s *slowServer) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.steps, " ")
}

func (s *slowServer) open(t *testing.T, timeouts email.Timeouts) *email.Announcer {
	t.Helper()
	announcer, err := email.Open(email.Options{
		URL: "smtp://" + s.listens.Addr().String(), From: sender, Timeouts: timeouts, Now: noon,
	})
	require.NoError(t, err)
	return announcer
}

// Each step has its own timeout: a server that is slow at one of them is cut off there, and
// the others have more time.
func TestEachStepHasItsTimeout(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	for _, row := range []struct {
		step, named string
		timeouts    email.Timeouts
		reason      notifier.Reason
	}{
		{"greeting", "the greeting", email.Timeouts{Greeting: short}, notifier.ReasonUnreachable},
		{"EHLO", "EHLO", email.Timeouts{Command: short}, notifier.ReasonUnreachable},
		{"MAIL", "MAIL", email.Timeouts{Command: short}, notifier.ReasonUnreachable},
		{"RCPT", "RCPT", email.Timeouts{Command: short}, notifier.ReasonUnreachable},
		{"DATA", "DATA", email.Timeouts{Data: short}, notifier.ReasonUnreachable},
		{"end", "the end of the message", email.Timeouts{Accepted: short}, notifier.ReasonTimeout},
	} {
		t.Run(row.step, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			server := serveSlowly(t, func(step string) bool {
				if step == row.step {
					<-over
				}
				return true
			})
			result := server.open(t, row.timeouts).Announce(t.Context(), contact, notifiertest.Notices()["account"])
			close(over)
			require.NoError(t, result.Validate())
			require.Equal(t, notifier.Retry, result.Status)
			require.Equal(t, row.reason, result.Reason)
			require.EqualError(t, result.Err, row.named+" failed: it took too long")
			require.Equal(t, row.step == "end", result.Uncertain(), "before the end of the message nothing was accepted")
		})
	}
}

// A server that is slow at every step, but within its timeouts, gets the message once.
func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := serveSlowly(t, func(string) bool {
		time.Sleep(150 * time.Millisecond)
		return true
	})
	timeouts := email.Timeouts{
		Connect: time.Second, Greeting: 600 * time.Millisecond, Command: 600 * time.Millisecond,
		Data: 600 * time.Millisecond, Content: 600 * time.Millisecond, Accepted: 600 * time.Millisecond,
	}
	began := time.Now()
	result := server.open(t, timeouts).Announce(t.Context(), contact, notifiertest.Notices()["account"])
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	require.Greater(t, time.Since(began), 800*time.Millisecond, "longer than any step may take")
}

// Once the message is accepted nothing else counts: not a server that never answers QUIT, nor
// one that dies at it.
func TestNobodyWaitsForQuit(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"never answers": true, "dies": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			server := serveSlowly(t, func(step string) bool {
				if step == "QUIT" && answers {
					<-over
				}
				return step != "QUIT" || answers
			})
			began := time.Now()
			result := server.open(t, email.Timeouts{}).Announce(t.Context(), contact, notifiertest.Notices()["account"])
			require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
			require.Less(t, time.Since(began), time.Minute, "an answer is awaited for five")
			require.Eventually(t, func() bool {
				return server.seen() == "greeting EHLO MAIL RCPT DATA end QUIT"
			}, time.Minute, 5*time.Millisecond, "QUIT is sent")
			close(over)
		})
	}
}

func TestASessionEndsWithQuitAfterARefusal(t *testing.T) {
	t.Parallel()
	for refused, want := range map[string]string{
		"EHLO": "greeting EHLO HELO MAIL RCPT DATA end QUIT", // falls back
		"MAIL": "greeting EHLO MAIL QUIT",
		"RCPT": "greeting EHLO MAIL RCPT QUIT",
		"DATA": "greeting EHLO MAIL RCPT DATA QUIT",
		"end":  "greeting EHLO MAIL RCPT DATA end QUIT",
	} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			server := serveRefusing(t, nil, refused)
			result := server.open(t, email.Timeouts{}).Announce(t.Context(), contact, notifiertest.Notices()["account"])
			require.NoError(t, result.Validate())
			require.Equal(t, refused == "EHLO", result.Status == notifier.Delivered, "%v", result.Err)
			require.Eventually(t, func() bool { return server.seen() == want }, time.Minute, 5*time.Millisecond, server.seen)
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		t.Parallel()
		server := serveSlowly(t, nil)
		announcer, err := email.Open(email.Options{
			URL: "smtp://" + server.listens.Addr().String(), From: sender, TLS: email.TLSMandatory, Now: noon,
		})
		require.NoError(t, err)
		require.ErrorContains(t, announcer.Check(t.Context()), "STARTTLS")
		require.Eventually(t, func() bool { return server.seen() == "greeting EHLO QUIT" }, time.Minute, 5*time.Millisecond, server.seen)
	})
}

// A server that dies leaves a doubt only after the end of the message.
func TestServerThatDiesAtAStep(t *testing.T) {
	t.Parallel()
	for at := range strings.FieldsSeq("greeting EHLO MAIL RCPT DATA end") {
		server := serveSlowly(t, func(step string) bool { return step != at })
		result := server.open(t, email.Timeouts{}).Announce(t.Context(), contact, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Retry, result.Status, at)
		require.Equal(t, at == "end", result.Uncertain(), at)
	}
}
