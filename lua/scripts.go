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

// AccountFind reads an account with its tier, by its name or by one of its API
// keys.
var AccountFind = script("account_find")

// AccountChange stores an account in place of what it was when it was read, and
// points its API keys to it.
var AccountChange = script("account_change")

// AccountRemoveTier removes a tier that no account has.
var AccountRemoveTier = script("account_remove_tier")

// NoticePut puts a notice into the outbox, once for each id.
var NoticePut = script("notice_put")

// NoticeClaim takes a notice for one delivery.
var NoticeClaim = script("notice_claim")

// NoticeSettle records what became of the delivery of a notice.
var NoticeSettle = script("notice_settle")

// NoticeRevive has a failed notice sent after all.
var NoticeRevive = script("notice_revive")

// NoticePurge forgets what a failed notice says; or just its entry, where it is
// a failed notice no longer.
var NoticePurge = script("notice_purge")

// StatsAdd adds to the numbers of an account's day, once for each call.
var StatsAdd = script("stats_add")

// Count counts a call in all of its counters, or says which refuses it.
var Count = script("count")

// GiveBack takes a call off all of its counters again.
var GiveBack = script("give_back")

// PermitsAcquire takes permits, or says how long until there are enough.
var PermitsAcquire = script("permits_acquire")

// PermitsGiveBack gives the permits of one call back before their time.
var PermitsGiveBack = script("permits_give_back")

// TokensTake takes tokens out of a bucket, or says how long until there are
// enough.
var TokensTake = script("tokens_take")

// TokensGiveBack puts tokens back into a bucket, up to its capacity.
var TokensGiveBack = script("tokens_give_back")

// Pause pauses a target for a while, unless it is paused for longer.
var Pause = script("pause")

// Hold charges an account for a message that is about to be accepted, moved or
// cancelled.
var Hold = script("hold")

// SettleHold ends the hold of a change that was made, or that will not be.
var SettleHold = script("settle_hold")

// HoldLook says under which holds a message came to where it stands.
var HoldLook = script("hold_look")

// Refit says which of a user's reservations do not fit the rules.
var Refit = script("refit")

// RefitTurn takes the turn of going through what does not fit a policy, or keeps
// it and notes how far that is, or gives it back.
var RefitTurn = script("refit_turn")

// PolicyApply stores a policy in place of the one of its name, under the next
// version.
var PolicyApply = script("policy_apply")

// SettingsChange stores what is set for a user under a new version, unless it is
// no longer what it was when it was read.
var SettingsChange = script("settings_change")

// All returns every script, for loading them into a server ahead of use: a
// pipeline cannot fall back from EVALSHA to EVAL.
func All() []*redis.Script {
	return []*redis.Script{Reserve, Check, Move, Release, NextFree, List, Usage, Claim, Settle, Renew, Rehearse, Revive, Purge, RecordSent, AccountFind, AccountChange, AccountRemoveTier, NoticePut, NoticeClaim, NoticeSettle, NoticeRevive, NoticePurge, StatsAdd, Count, GiveBack, PermitsAcquire, PermitsGiveBack, TokensTake, TokensGiveBack, Pause, Hold, SettleHold, HoldLook, Refit, RefitTurn, PolicyApply, SettingsChange}
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
