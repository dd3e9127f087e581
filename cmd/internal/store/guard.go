package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/alicebob/miniredis/v2/server"
)

// miniredis is written for tests: a command without words, a length that is no length and
// arguments that a command does not expect end the process or make it hang. Here anybody on the
// machine may send bytes, so guardedConn passes on whole commands only, and survivor runs those
// that programs need, and ends a connection instead of the process. A script may still run for
// ever: who may send scripts may also delete everything.

const (
	maxWords    = 1 << 20 // of a command, as in Redis
	longestWord = 64 << 20
	longestLine = 32 // of a length
)

var errNoCommand = errors.New("not a command in the protocol of Redis")

// guardedConn reads commands: arrays of at least one string, each with its length before it.
// Anything else is an error, which ends the connection.
type guardedConn struct {
	net.Conn

	from  *bufio.Reader
	whole bytes.Buffer // what is left of a command that was read
}

func guarded(conn net.Conn) net.Conn {
	return &guardedConn{Conn: conn, from: bufio.NewReader(conn)}
}

// Read returns bytes of a command once it has been read as a whole.
func (c *guardedConn) Read(p []byte) (int, error) {
	if c.whole.Len() == 0 {
		if c.whole.Reset(); c.whole.Cap() > 1<<20 {
			c.whole = bytes.Buffer{} // it is not kept for ordinary commands
		}
		if err := c.readCommand(); err != nil {
			return 0, err
		}
	}
	return c.whole.Read(p)
}

func (c *guardedConn) readCommand() error {
	words, err := c.readLength('*', 1, maxWords)
	if err != nil {
		return err
	}
	for range words {
		length, err := c.readLength('$', 0, longestWord)
		if err != nil {
			return err
		}
		// What is stored grows with what came, and not with the length that was announced.
		if _, err := io.CopyN(&c.whole, c.from, int64(length)+2); err != nil {
			return fmt.Errorf("reading a command: %w", err)
		}
		if !bytes.HasSuffix(c.whole.Bytes(), []byte("\r\n")) || c.whole.Len() > longestWord {
			return errNoCommand
		}
	}
	return nil
}

// readLength reads a line with a kind and a length within bounds.
func (c *guardedConn) readLength(kind byte, least, most int) (int, error) {
	var line []byte
	for !bytes.HasSuffix(line, []byte("\r\n")) {
		b, err := c.from.ReadByte()
		if err != nil {
			return 0, err
		}
		if line = append(line, b); len(line) > longestLine {
			return 0, errNoCommand
		}
	}
	text, isKind := strings.CutPrefix(string(line[:len(line)-2]), string(kind))
	n, err := strconv.Atoi(text)
	if !isKind || err != nil || n < least || n > most || text != strconv.Itoa(n) {
		return 0, errNoCommand
	}
	c.whole.Write(line)
	return n, nil
}

// commands returns the commands that there are: those of which docs/redis.md says that the
// programs need them, those of a connection, and a few for who looks into the store with redis-cli.
func commands() []string {
	return strings.Fields("bgrewriteaof copy dbsize decrby del eval evalsha exec exists expire expireat get hdel hexists hget" +
		" hgetall hincrby hkeys hlen hmget hscan hset hsetnx hstrlen hvals incr info lindex llen lpush lrange" +
		" lrem ltrim memory mget mset multi persist pexpire pexpireat pexpiretime ping pttl rpoplpush" +
		" rpush sadd scan set setex sismember smembers srem subscribe time unlink unwatch wait watch xadd xdel" +
		" xlen xrange xrevrange xtrim zadd zcard zcount zmscore zrange zrangebylex zrangebyscore zrank zrem" +
		" zremrangebyscore zrevrange zrevrangebylex zscan zscore" +
		" auth client discard hello quit unsubscribe" +
		" keys ttl type")
}

// survivor runs commands so that one that panics gets an error, and its connection ends.
type survivor struct {
	server *server.Server
	known  map[string]bool // by name, in lower case

	mu      sync.Mutex
	running map[*server.Peer]bool
}

// run is a server.Hook. It runs the command itself, as the hook of which it is called again.
func (s *survivor) run(peer *server.Peer, command string, args ...string) bool {
	if !s.enter(peer) {
		return false
	}
	defer s.leave(peer)
	if !s.known[strings.ToLower(command)] {
		peer.WriteError("ERR unknown command '" + strings.ToValidUTF8(strings.Map(visible, command), "?") + "': the embedded store has those that Sendlimit needs")
		return true
	}
	defer func() {
		if recover() != nil {
			peer.WriteError("ERR the embedded store does not take this command so")
			peer.Close()
		}
	}()
	s.server.Dispatch(peer, append([]string{command}, args...))
	return true
}

// visible replaces what would end an answer, or steer a terminal.
func visible(r rune) rune {
	if !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// enter reports whether no command of the connection is running yet.
func (s *survivor) enter(peer *server.Peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[peer] {
		return false
	}
	s.running[peer] = true
	return true
}

func (s *survivor) leave(peer *server.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, peer)
}
