package integration_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// pushSocket is the side of a push service that browsers connect to, in the protocol of
// Mozilla's: messages in JSON over a websocket. The other side, where pushes are sent, is
// endpoints.
type pushSocket struct {
	endpoints *notifiertest.PushService
	server    *httptest.Server

	mu         sync.Mutex
	connection *websocket.Conn      // of the browser; nil before it says hello
	waiting    map[string]pushFrame // notifications without an answer, by version
	answered   []pushFrame          // what the browser says about notifications
	channels   map[string]string    // endpoints by channel
}

// pushFrame is a message of the protocol. An empty one is a ping, or its answer.
type pushFrame struct {
	Type     string            `json:"messageType,omitempty"`
	Agent    string            `json:"uaid,omitempty"`
	Status   int               `json:"status,omitempty"`
	WebPush  bool              `json:"use_webpush,omitempty"`
	Channel  string            `json:"channelID,omitempty"`
	Key      string            `json:"key,omitempty"` // the public VAPID key
	Endpoint string            `json:"pushEndpoint,omitempty"`
	Version  string            `json:"version,omitempty"`
	Data     string            `json:"data,omitempty"` // in base64url
	Headers  map[string]string `json:"headers,omitempty"`
	Code     int               `json:"code,omitempty"`
	Updates  []pushFrame       `json:"updates,omitempty"`
}

// pushShown is the code of a notification that was decrypted and handed to a service worker.
const pushShown = 100

func newPushSocket(t *testing.T, endpoints *notifiertest.PushService) *pushSocket {
	t.Helper()
	s := &pushSocket{endpoints: endpoints, waiting: map[string]pushFrame{}, channels: map[string]string{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.server.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.connection != nil {
			_ = s.connection.Close() // the server does not close what was hijacked
		}
	})
	return s
}

// url returns the address for browsers.
func (s *pushSocket) url() string { return "ws" + strings.TrimPrefix(s.server.URL, "http") + "/" }

// answers returns what the browser said about notifications: pushShown, or what went wrong.
func (s *pushSocket) answers() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	codes := make([]int, 0, len(s.answered))
	for _, answer := range s.answered {
		codes = append(codes, answer.Code)
	}
	return codes
}

// subscriptions returns how many subscriptions the browser has.
func (s *pushSocket) subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.channels)
}

func (s *pushSocket) serve(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{
		Subprotocols: []string{"push-notification"},
		CheckOrigin:  func(*http.Request) bool { return true },
	}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer connection.Close()
	for {
		var frame pushFrame
		if err := connection.ReadJSON(&frame); err != nil {
			return // the browser has ended, or connects again
		}
		s.handle(connection, frame)
	}
}

func (s *pushSocket) handle(connection *websocket.Conn, frame pushFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch frame.Type {
	case "": // a ping
		s.write(connection, pushFrame{})
	case "hello":
		if frame.Agent == "" {
			frame.Agent = strings.ReplaceAll(uuid.NewString(), "-", "")
		}
		s.write(connection, pushFrame{Type: "hello", Agent: frame.Agent, Status: http.StatusOK, WebPush: true})
		s.connection = connection
		for _, notification := range s.waiting {
			s.write(connection, notification)
		}
	case "register":
		endpoint := s.endpoints.Relay(strings.TrimRight(frame.Key, "="), func(body []byte) { s.notify(frame.Channel, body) })
		s.channels[frame.Channel] = endpoint
		s.write(connection, pushFrame{Type: "register", Channel: frame.Channel, Status: http.StatusOK, Endpoint: endpoint})
	case "unregister":
		s.endpoints.Unsubscribe(s.channels[frame.Channel])
		delete(s.channels, frame.Channel)
		s.write(connection, pushFrame{Type: "unregister", Channel: frame.Channel, Status: http.StatusOK})
	case "ack":
		for _, update := range frame.Updates {
			s.settle(update)
		}
	case "nack":
		s.settle(frame)
	}
}

func (s *pushSocket) settle(answer pushFrame) {
	delete(s.waiting, answer.Version)
	s.answered = append(s.answered, answer)
}

// notify sends a push to the browser, at once or when it connects again.
func (s *pushSocket) notify(channel string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := uuid.NewString()
	s.waiting[version] = pushFrame{
		Type: "notification", Channel: channel, Version: version,
		Data: base64.RawURLEncoding.EncodeToString(body), Headers: map[string]string{"encoding": "aes128gcm"},
	}
	if s.connection != nil {
		s.write(s.connection, s.waiting[version])
	}
}

// write sends a frame. A browser that has gone gets what waits when it connects again.
func (s *pushSocket) write(connection *websocket.Conn, frame pushFrame) {
	_ = connection.WriteJSON(frame)
}
