package sendlimit_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// shortOfWork replaces the scripts of a client by ones that stop after a few steps, and
// that read what there is in small parts.
type shortOfWork struct {
	redis.Hook
	hashes map[string]string // of the replaced ones
}

// shortened returns the text of a script that stops soon. A claim stays: how many late
// messages it places in a call decides which of them wait.
func shortened(text string) string {
	if strings.HasPrefix(text, "-- message/claim.lua") {
		return text
	}
	return strings.NewReplacer(
		"local WORK = 7000", "local WORK = 40",
		"local SIMPLY, COMMAND = 256, 8", "local SIMPLY, COMMAND = 4, 8",
		"local FAR = 128", "local FAR = 1",
		"local MOST, MOST_CONFLICTS, HOPS, DAY, UNITS = 48, 10, 32,", "local MOST, MOST_CONFLICTS, HOPS, DAY, UNITS = 3, 10, 2,",
		"local LISTED, LOOKED = 1000, 1000", "local LISTED, LOOKED = 7, 5",
		"local PAGE = 250", "local PAGE = 3",
		"local READ = 2000", "local READ = 2",
	).Replace(text)
}

func newShortOfWork(t *testing.T) shortOfWork {
	t.Helper()
	h, replaced := shortOfWork{hashes: make(map[string]string)}, 0
	for _, name := range lua.NamesByHash() {
		text, err := lua.Text(name)
		require.NoError(t, err)
		sum := sha1.Sum([]byte(shortened(text))) //nolint:names // Redis names scripts by it
		h.hashes[redis.NewScript(text).Hash()] = hex.EncodeToString(sum[:])
		if shortened(text) != text {
			replaced++
		}
	}
	require.Greater(t, replaced, 7, "scripts that search")
	return h
}

func (h shortOfWork) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h shortOfWork) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h shortOfWork) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if len(args) < 2 { // TIME
			return next(ctx, cmd)
		}
		switch text, _ := args[1].(string); cmd.Name() {
		case "evalsha":
			args[1] = h.hashes[text]
		case "eval":
			args[1] = shortened(text)
		}
		return next(ctx, cmd)
	}
}

// The answers are the same if every search takes many calls.
func TestManyCallsAgreeWithTheModel(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for name, check := range map[string]func(t *rapid.T, client redis.UniversalClient, prefix string){
		"places": sendlimittest.CheckHistory, "crowds": sendlimittest.CheckCrowd, "messages": sendlimittest.CheckMessages,
		"forbidden": func(t *rapid.T, client redis.UniversalClient, prefix string) {
			sendlimittest.CheckForbidden(t, client, prefix)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := redistest.Embedded(t)
			client.AddHook(newShortOfWork(t))
			var histories atomic.Int64
			rapid.Check(t, func(t *rapid.T) { check(t, client, fmt.Sprintf("s%d", histories.Add(1))) })
		})
	}
}
