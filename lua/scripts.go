package lua

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Reserve takes the place of a message in its user's timeline, or says why not.
var Reserve = script("reserve")

// Check says what Reserve would answer, and writes nothing.
var Check = script("check")

// Move gives a reservation another place, or says why not.
var Move = script("move")

// Release gives a reservation back; with a record, it cancels the message.
var Release = script("release")

// NextFree gives the next free times from a moment on, each counting those
// before it as taken.
var NextFree = script("next_free")

// List gives a user's reservations, ascending by send time, then id.
var List = script("list")

// Usage says how full each rule is around a time, and which stretches of a
// span are free.
var Usage = script("usage")

// Claim is the gate a message passes just before its delivery.
var Claim = script("claim")

// Settle records what became of a delivery.
var Settle = script("settle")

// Renew looks after a message whose time to be looked after has come.
var Renew = script("renew")

// Rehearse prepares the copies on which a dry run judges.
var Rehearse = script("rehearse")

// Revive has a dead letter sent after all, or says why not.
var Revive = script("revive")

// Purge forgets a dead letter with its record; or just its entry, where the
// message is a dead letter no longer.
var Purge = script("purge")

// RecordSent records a send that is over, so that it counts from now on.
var RecordSent = script("record_sent")

// All returns every script, for loading them into a server ahead of use: a
// pipeline cannot fall back from EVALSHA to EVAL.
func All() []*redis.Script {
	return []*redis.Script{Reserve, Check, Move, Release, NextFree, List, Usage, Claim, Settle, Renew, Rehearse, Revive, Purge, RecordSent}
}

//go:embed *.lua fragments/*.lua
var files embed.FS

var include = regexp.MustCompile(`(?m)^--@include (\w+)\n`)

func script(name string) *redis.Script {
	text, err := Text(name)
	if err != nil {
		panic(err) // the files are compiled in: a broken include never ships
	}
	return redis.NewScript(text)
}

// Text returns the joined text of a script, "reserve" for reserve.lua: what
// the server runs. The error says which file does not exist.
func Text(name string) (string, error) {
	return join(name + ".lua")
}

func join(file string) (string, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("script %s: %w", file, err)
	}
	var failed error
	joined := include.ReplaceAllStringFunc(string(text), func(line string) string {
		name := strings.TrimSpace(strings.TrimPrefix(line, "--@include "))
		fragment, err := join("fragments/" + name + ".lua")
		if err != nil {
			failed = err
		}
		return fragment
	})
	return joined, failed
}

// Names returns the name of every script, "reserve" for reserve.lua, by the
// SHA-1 that it is called by.
func Names() map[string]string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are compiled in
	}
	names := make(map[string]string)
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".lua"); ok {
			names[script(name).Hash()] = name
		}
	}
	return names
}
