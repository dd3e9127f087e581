package redistest

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// AnswerIdlePolls answers two scripts of asynq without Lua if they would find nothing: the script
// that takes a pending task and the one that looks for due tasks. A worker calls both about fifteen
// times a second, nearly always in vain, and each call costs the embedded store a new Lua state:
// that was half of the processor time of the tests with workers. SetError of the store ends it. The
// store must be serving, and all its clients must use database 0. Hooks of a test are called first.
func AnswerIdlePolls(store *miniredis.Miniredis, hooks ...server.Hook) {
	polls := &idlePolls{store: store, takes: make(map[string]bool), looks: make(map[string]bool)}
	store.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		for _, hook := range hooks {
			if hook(peer, command, args...) {
				return true
			}
		}
		return polls.answer(peer, command, args...)
	})
}

type idlePolls struct {
	store *miniredis.Miniredis

	mu    sync.Mutex
	takes map[string]bool // hashes of scripts that take a pending task
	looks map[string]bool // hashes of scripts that look for due tasks
}

// answer is a server.Hook.
func (p *idlePolls) answer(peer *server.Peer, command string, args ...string) bool {
	if command != "EVAL" && command != "EVALSHA" || len(args) < 6 {
		return false
	}
	p.mu.Lock()
	if command == "EVAL" { // it comes once, and then by its hash
		hash := sha1.Sum([]byte(args[0])) //nolint:names // Redis names scripts by it
		if strings.Contains(args[0], `redis.call("RPOPLPUSH", KEYS[1], KEYS[3])`) {
			p.takes[hex.EncodeToString(hash[:])] = true
		}
		if strings.Contains(args[0], `redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", ARGV[1], "LIMIT", 0, 100)`+"\nfor _, id in ipairs(ids) do\n\tlocal taskKey") {
			p.looks[hex.EncodeToString(hash[:])] = true
		}
	}
	takes, looks := p.takes[args[0]], p.looks[args[0]]
	p.mu.Unlock()
	switch {
	case takes && p.count("EXISTS", args[2]) == "0":
		peer.WriteNull()
	case looks && p.count("ZCOUNT", args[2], "-inf", args[4]) == "0":
		peer.WriteInt(0)
	default:
		return false
	}
	return true
}

// count returns the reply of a command that counts.
func (p *idlePolls) count(args ...string) string {
	var reply bytes.Buffer
	out := bufio.NewWriter(&reply)
	p.store.Server().Dispatch(server.NewPeer(out), args)
	_ = out.Flush()
	return strings.Trim(reply.String(), ":\r\n")
}
