package notifiertest

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// apnsConn is a connection to an APNsServer. It speaks HTTP/2 by the frame, since net/http's
// server can't name a stream in a GOAWAY.
type apnsConn struct {
	server *APNsServer
	net    *tls.Conn
	number int
	ended  chan struct{} // closed with the connection

	mu      sync.Mutex // of what is below, and of writing
	frames  *http2.Framer
	encoder *hpack.Encoder
	encoded bytes.Buffer
	streams map[uint32]*apnsStream // that are not over
	highest uint32                 // the highest stream that is processed
	leaving bool                   // a GOAWAY was sent
	silent  bool                   // nothing is written any more
	allowed uint32                 // streams at a time
}

// apnsStream is a push under way.
type apnsStream struct {
	id           uint32
	method, path string
	push         APNsPush
	answer       APNsAnswer
	over         chan struct{} // closed if the client resets it
}

func newAPNsConn(s *APNsServer, c *tls.Conn, number int) *apnsConn {
	conn := &apnsConn{
		server: s, net: c, number: number, ended: make(chan struct{}),
		streams: make(map[uint32]*apnsStream), allowed: 1,
	}
	conn.frames = http2.NewFramer(conn, c)
	conn.encoder = hpack.NewEncoder(&conn.encoded)
	conn.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return conn
}

// serve answers pushes until the connection ends.
func (c *apnsConn) serve() {
	var answering sync.WaitGroup
	defer answering.Wait()
	defer close(c.ended)
	defer c.net.Close()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.net, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	c.write(func() error {
		return c.frames.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: c.allowed})
	})
	for {
		frame, err := c.frames.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.write(c.frames.WriteSettingsAck)
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				c.write(func() error { return c.frames.WritePing(true, f.Data) })
			}
		case *http2.RSTStreamFrame:
			if stream := c.take(f.StreamID); stream != nil {
				close(stream.over)
			}
		case *http2.MetaHeadersFrame:
			c.begin(f)
		case *http2.DataFrame:
			if n := f.Header().Length; n > 0 {
				c.write(func() error { return c.frames.WriteWindowUpdate(0, n) })
			}
			if stream := c.receive(f); stream != nil {
				answering.Go(func() { c.finish(stream) })
			}
		}
	}
}

// Write writes to the connection, unless it has fallen silent. Its callers hold the lock.
func (c *apnsConn) Write(frame []byte) (int, error) {
	if c.silent {
		return len(frame), nil
	}
	return c.net.Write(frame)
}

// write calls a function that writes frames. It ignores errors: reading shows them.
func (c *apnsConn) write(frames func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = frames()
}

func (c *apnsConn) take(id uint32) *apnsStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream := c.streams[id]
	delete(c.streams, id)
	return stream
}

// begin starts a stream, unless it is refused or the connection is leaving.
func (c *apnsConn) begin(f *http2.MetaHeadersFrame) {
	stream := &apnsStream{
		id: f.StreamID, method: f.PseudoValue("method"), path: f.PseudoValue("path"), over: make(chan struct{}),
		push: APNsPush{Header: make(http.Header), Conn: c.number},
	}
	for _, field := range f.RegularFields() {
		stream.push.Header.Add(field.Name, field.Value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving {
		return // the client knows it from the GOAWAY
	}
	if len(c.streams) >= int(c.allowed) {
		c.server.mu.Lock()
		c.server.excess++
		c.server.mu.Unlock()
		_ = c.frames.WriteRSTStream(stream.id, http2.ErrCodeRefusedStream)
		return
	}
	stream.answer = c.server.next()
	switch stream.answer.Fault {
	case APNsRefuse:
		_ = c.frames.WriteRSTStream(stream.id, http2.ErrCodeRefusedStream)
		return
	case APNsGoAway:
		c.leave(stream.answer.Reason)
		return
	case APNsSilence:
		c.silent = true
	case APNsReset, APNsHangUp, APNsGoodbye:
	}
	c.streams[stream.id], c.highest = stream, stream.id
}

// leave sends a GOAWAY, and ends the connection with the last stream. The caller holds the lock.
func (c *apnsConn) leave(reason string) {
	c.leaving = true
	_ = c.frames.WriteGoAway(c.highest, http2.ErrCodeNo, APNsAnswer{Reason: reason}.body())
	c.endIfIdle()
}

// endIfIdle ends a connection that is leaving and has no streams. It reads on, since a TCP
// connection that is closed with unread data loses written data.
func (c *apnsConn) endIfIdle() {
	if c.leaving && len(c.streams) == 0 {
		_ = c.net.CloseWrite()
	}
}

// receive adds to a stream's body, and returns the stream if that is complete.
func (c *apnsConn) receive(f *http2.DataFrame) *apnsStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream := c.streams[f.StreamID]
	if stream == nil {
		return nil
	}
	stream.push.Payload = append(stream.push.Payload, f.Data()...)
	if !f.StreamEnded() {
		return nil
	}
	return stream
}

// finish answers a push.
func (c *apnsConn) finish(stream *apnsStream) {
	answer := c.server.judge(stream.method, stream.path, &stream.push, stream.answer)
	if answer.Delay > 0 {
		timer := time.NewTimer(answer.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-stream.over:
			return
		case <-c.ended:
			return
		}
	}
	if answer.Status == http.StatusOK {
		c.server.accepted(stream.push)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[stream.id] == nil {
		return
	}
	delete(c.streams, stream.id)
	defer c.endIfIdle()
	switch answer.Fault {
	case APNsReset:
		_ = c.frames.WriteRSTStream(stream.id, http2.ErrCodeInternal)
		return
	case APNsHangUp:
		_ = c.net.Close()
		return
	case APNsRefuse, APNsGoAway, APNsGoodbye, APNsSilence:
	}
	c.reply(stream, answer)
	if answer.Fault == APNsGoodbye && !c.leaving {
		c.leave("")
	}
}

// reply writes an answer. The caller holds the lock.
func (c *apnsConn) reply(stream *apnsStream, answer APNsAnswer) {
	if c.allowed != c.server.streams && answer.Status != http.StatusForbidden {
		c.allowed = c.server.streams
		_ = c.frames.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: c.allowed})
	}
	c.encoded.Reset()
	field := func(name, value string) { _ = c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	field(":status", strconv.Itoa(answer.Status))
	field("apns-id", stream.push.Header.Get("Apns-Id"))
	for name, values := range answer.Header {
		for _, value := range values {
			field(strings.ToLower(name), value)
		}
	}
	body := answer.body()
	_ = c.frames.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream.id, BlockFragment: c.encoded.Bytes(), EndHeaders: true, EndStream: len(body) == 0,
	})
	if len(body) > 0 {
		_ = c.frames.WriteData(stream.id, true, body)
	}
}
