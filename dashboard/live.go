package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/overview"
)

const (
	liveEvery = time.Second
	// liveWithin bounds one read of the store.
	liveWithin = 5 * time.Second
	// stillThere is how often something is sent at least, so that a proxy keeps the connection, and
	// how often the session is checked.
	stillThere = 3 * time.Second
	// maxLive is how many browsers follow at a time.
	maxLive = 500
)

// hub sends live figures to all browsers that follow. It reads the store once for all of them, and
// not at all without followers.
type hub struct {
	overview *overview.Reader
	logger   *slog.Logger

	mu        sync.Mutex
	followers map[chan []byte]bool
	running   bool
}

func newHub(o *overview.Reader, logger *slog.Logger) *hub {
	return &hub{overview: o, logger: logger, followers: make(map[chan []byte]bool)}
}

// join adds a follower. It reports false if there are too many.
func (h *hub) join(now func() time.Time) (news chan []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.followers) >= maxLive {
		return nil, false
	}
	news = make(chan []byte, 1)
	h.followers[news] = true
	if !h.running {
		h.running = true
		go h.run(now)
	}
	return news, true
}

func (h *hub) leave(news chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers, news)
}

// run reads the store each second, until nobody follows.
func (h *hub) run(now func() time.Time) {
	ticker := time.NewTicker(liveEvery)
	defer ticker.Stop()
	for {
		state := h.look(now())
		h.mu.Lock()
		if len(h.followers) == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		for news := range h.followers {
			select {
			case <-news: // one that has not read the last state gets this one instead
			default:
			}
			if state != nil {
				news <- state
			}
		}
		h.mu.Unlock()
		<-ticker.C
	}
}

// look returns the present state as an event, nil if the store does not answer.
func (h *hub) look(now time.Time) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), liveWithin) //nolint:names // it is for all followers, and outlives the first
	defer cancel()
	o, err := h.overview.Read(ctx, now)
	if err != nil {
		h.logger.DebugContext(ctx, "could not read the overview for those who follow it", "error", err)
		return nil
	}
	text, err := json.Marshal(liveStateOf(o))
	if err != nil {
		h.logger.ErrorContext(ctx, "could not write the overview for those who follow it", "error", err)
		return nil
	}
	return fmt.Appendf(nil, "event: overview\ndata: %s\n\n", bytes.TrimSpace(text))
}

// follow sends the overview as server-sent events until the browser leaves, the session ends or
// the server stops.
func (d *Dashboard) follow(w http.ResponseWriter, r *http.Request) {
	news, ok := d.live.join(d.o.Now)
	if !ok {
		d.showError(w, r, &problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: "too many open dashboards: close some"})
		return
	}
	defer d.live.leave(news)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // every connection of a server has deadlines
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(d.o.Now().Add(streamIdle))
		_, err := w.Write(text)
		return err == nil && control.Flush() == nil
	}
	if !send([]byte("retry: 2000\n\n")) {
		return
	}
	alive := time.NewTicker(d.stillThere)
	defer alive.Stop()
	for {
		var text []byte
		select {
		case <-r.Context().Done():
			return
		case <-d.o.Stopping:
			return
		case <-alive.C:
			if again, err := d.find(r); err == nil && !again.Admin() {
				return // the browser asks again, and is told to log in
			}
			text = []byte(": still there\n\n")
		case text = <-news:
		}
		if !send(text) {
			return
		}
	}
}
