package lua

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Reserve takes the place of a message in its user's timeline, or says why not.
// Check only looks.
var Reserve = script("place/reserve")

// ReserveMany takes the places of new messages of one user, one after the other.
var ReserveMany = script("place/reserve_many")

// Check says what Reserve would answer. It writes nothing.
var Check = script("place/check")

// Move gives a reservation another place, or says why not.
var Move = script("place/move")

// Release gives a reservation back; with a record, it cancels the message.
var Release = script("place/release")

// RecordSent records a send of the past, so that it counts.
var RecordSent = script("place/record_sent")

// NextFree finds the next free times from a moment on. Each counts those before it
// as taken. It writes nothing.
var NextFree = script("place/next_free")

// List lists a user's reservations, ascending by send time, then id.
var List = script("place/list")

// Times returns the send times of a user's places in a span. It writes nothing.
var Times = script("place/times")

// Rehearse copies a user's timeline and a record for a dry run.
var Rehearse = script("place/rehearse")

// FreeLost frees places whose messages have no record, and mends others.
var FreeLost = script("place/free_lost")

// Claim is the gate a message passes just before its delivery.
var Claim = script("message/claim")

// Settle records the outcome of a delivery.
var Settle = script("message/settle")

// Resume lets a message of a resumed campaign be claimed again.
var Resume = script("message/resume")

// TurnTake lets one of several programs do what one at a time is to do.
var TurnTake = script("turn/take")

// TurnJob takes, keeps or ends the turn of a job that takes long.
var TurnJob = script("turn/job")

// BringNear moves entries of far lists to the near list of the watch list.
var BringNear = script("message/bring_near")

// HandOver finds which due entries of a watch list the queue gets now.
var HandOver = script("message/hand_over")

// Renew looks after a message whose entry in the watch list is due.
var Renew = script("message/renew")

// Mend finishes what a torn log left of a message.
var Mend = script("message/mend")

// Revive makes a dead letter pending again, or says why not.
var Revive = script("message/revive")

// Edit changes content, metadata and expiry of a pending message.
var Edit = script("message/edit")

// Purge removes a dead letter with its record. If the message is no longer a dead
// letter, it removes only the entry.
var Purge = script("message/purge")

// Forget removes an entry of the index of messages whose message is gone.
var Forget = script("message/forget")

// Hold charges an account, or a throttle, for messages that are about to be accepted,
// moved or cancelled.
var Hold = script("charge/hold")

// SettleHold ends the holds of changes that were made, and of changes that will not be
// made.
var SettleHold = script("charge/settle_hold")

// ChangeQuota applies a changed quota to the alerts of a day of an account.
var ChangeQuota = script("charge/change_quota")

// HoldLook returns the holds under which a message came to its place.
var HoldLook = script("charge/hold_look")

// AccountFind reads an account with its tier, by its name or by one of its API
// keys.
var AccountFind = script("account/find")

// AccountChange stores an account in place of the one that was read, and points its
// API keys to it.
var AccountChange = script("account/change")

// AccountRemoveTier removes a tier that no account has.
var AccountRemoveTier = script("account/remove_tier")

// NoticePut puts a notice into the outbox, once for each id.
var NoticePut = script("notice/put")

// NoticeClaim claims a notice for one delivery.
var NoticeClaim = script("notice/claim")

// NoticeRenew renews the lease of the delivery that has a notice.
var NoticeRenew = script("notice/renew")

// NoticeSettle records the outcome of the delivery of a notice.
var NoticeSettle = script("notice/settle")

// NoticeRevive puts a failed notice back into the outbox.
var NoticeRevive = script("notice/revive")

// NoticePurge removes the content of a failed notice. If it is no longer a failed
// notice, it removes only the entry.
var NoticePurge = script("notice/purge")

// Count counts a call in all of its counters. If one refuses, it counts the call in
// none.
var Count = script("count/count")

// GiveBack takes a call off all of its counters again, or resets them.
var GiveBack = script("count/give_back")

// AddOnce adds to the numbers of some hashes, once for each call.
var AddOnce = script("count/add_once")

// CountLook says what Count would answer. It writes nothing.
var CountLook = script("count/look")

// PermitsAcquire takes permits, or says how long until enough of them are free.
var PermitsAcquire = script("rate/permits_acquire")

// PermitsGiveBack gives the permits of one call back before their time.
var PermitsGiveBack = script("rate/permits_give_back")

// PermitsLook says how many permits are taken. It writes nothing.
var PermitsLook = script("rate/permits_look")

// TokensTake takes tokens out of a bucket, or says how long until it has enough.
var TokensTake = script("rate/tokens_take")

// TokensGiveBack puts tokens back into a bucket, up to its capacity.
var TokensGiveBack = script("rate/tokens_give_back")

// TokensLook says how many tokens are in a bucket. It writes nothing.
var TokensLook = script("rate/tokens_look")

// Pause pauses a target for a while, unless it is paused for longer already.
var Pause = script("rate/pause")

// CampaignPause pauses a campaign.
var CampaignPause = script("setting/campaign_pause")

// ChannelStop stops a channel, unless it is stopped already.
var ChannelStop = script("channel/stop")

// ChannelResume resumes a stopped channel.
var ChannelResume = script("channel/resume")

// ChannelTakeProbe gives one worker the turn to probe a stopped channel.
var ChannelTakeProbe = script("channel/take_probe")

// PolicyApply stores a policy in place of the one with its name, under the next
// version, and tells the programs that follow the policies.
var PolicyApply = script("setting/policy_apply")

// PolicyMark marks a policy as being deleted, or removes the mark.
var PolicyMark = script("setting/policy_mark")

// PolicyDelete deletes a policy that is still marked by this deletion, and tells the
// programs that follow the policies.
var PolicyDelete = script("setting/policy_delete")

// SettingsChange stores a user's settings under a new version, unless they changed
// since they were read.
var SettingsChange = script("setting/settings_change")

// DeviceAdd registers a device of a user, or registers it again.
var DeviceAdd = script("device/add")

// DeviceRemove removes devices of a user.
var DeviceRemove = script("device/remove")

// DeviceClaim claims an address for a user, or for nobody.
var DeviceClaim = script("device/claim")

// DeviceSettleClaim ends a claim: removes the claims before it, or the claim itself.
var DeviceSettleClaim = script("device/settle_claim")

// DeviceRecount counts the devices of a user anew.
var DeviceRecount = script("device/recount")

// DeviceHold holds room for one more device of an account.
var DeviceHold = script("device/hold")

// DeviceNoteCount notes how many devices of an account a partition has, and ends a hold.
var DeviceNoteCount = script("device/note_count")

// DeviceNoteSuccess notes that devices of a user accepted a push in this hour.
var DeviceNoteSuccess = script("device/note_success")

// DeviceSuspect marks devices of a user as suspect, or removes the mark.
var DeviceSuspect = script("device/suspect")

// ForecastFar counts the messages in far lists that are due within a span, by when they are
// due. It writes nothing.
var ForecastFar = script("forecast/count_far")

// Refit lists the reservations of a user that do not fit the rules. It writes
// nothing.
var Refit = script("refit/refit")

// AuditBegin adds an entry to the log of changes, and removes the oldest.
var AuditBegin = script("audit/begin")

// AuditEnd notes how a change ended, with its entry in the log of changes.
var AuditEnd = script("audit/end")

// AuditErase replaces an entry in the log of changes by one that names no user.
var AuditErase = script("audit/erase")

// EventAppend appends events of a partition to those of an account, each once.
var EventAppend = script("event/append")

// EventListen notes until when somebody listens to the events of an account.
var EventListen = script("event/listen")

// CallbackBegin makes the state of an account's callback.
var CallbackBegin = script("event/callback_begin")

// CallbackTake gives one worker the turn to post events of an account to its callback.
var CallbackTake = script("event/callback_take")

// CallbackSettle records what became of a request to the callback of an account.
var CallbackSettle = script("event/callback_settle")

// DeadRetry appends dead events to the events of their account again.
var DeadRetry = script("event/dead_retry")

// All returns every script, for loading them into a server ahead of use: a
// pipeline cannot fall back from EVALSHA to EVAL.
func All() []*Script {
	return []*Script{
		Reserve, ReserveMany, Check, Move, Release, RecordSent, NextFree, List, Times, Rehearse, FreeLost,
		Claim, Settle, BringNear, HandOver, Renew, Mend, Revive, Edit, Purge, Resume, Forget,
		Hold, SettleHold, HoldLook, ChangeQuota,
		AccountFind, AccountChange, AccountRemoveTier,
		NoticePut, NoticeClaim, NoticeRenew, NoticeSettle, NoticeRevive, NoticePurge,
		Count, GiveBack, CountLook, AddOnce,
		PermitsAcquire, PermitsGiveBack, PermitsLook, TokensTake, TokensGiveBack, TokensLook, Pause,
		PolicyApply, PolicyMark, PolicyDelete, SettingsChange,
		CampaignPause, Refit, ForecastFar, TurnTake, TurnJob,
		DeviceAdd, DeviceRemove, DeviceClaim, DeviceSettleClaim, DeviceRecount, DeviceHold, DeviceNoteCount, DeviceNoteSuccess, DeviceSuspect,
		ChannelStop, ChannelResume, ChannelTakeProbe,
		AuditBegin, AuditEnd, AuditErase,
		EventAppend, EventListen,
		CallbackBegin, CallbackTake, CallbackSettle, DeadRetry,
	}
}

// NameOf returns the name of a script, such as "message/claim", by its hash or its text; ""
// if it is none of All.
func NameOf(hashOrText string) string {
	if name := names()[hashOrText]; name != "" {
		return name
	}
	return names()[redis.NewScript(hashOrText).Hash()]
}

// names is NamesByHash, made once.
var names = sync.OnceValue(NamesByHash)

//go:embed */*.lua
var files embed.FS

// include begins a line that stands for a fragment: "judge/rules", or a name in fragments/.
const include = "--@include "

// Script is a script that is joined when it is first used: most programs need a few.
type Script struct{ joined func() *redis.Script }

func script(name string) *Script {
	return &Script{sync.OnceValue(func() *redis.Script {
		text, err := Text(name)
		if err != nil {
			panic(err) // the files are compiled in, and a test joins all
		}
		return redis.NewScript(text)
	})}
}

// Hash returns the SHA-1 of the script, by which a server knows it.
func (s *Script) Hash() string { return s.joined().Hash() }

// Load loads the script into a server.
func (s *Script) Load(ctx context.Context, c redis.Scripter) *redis.StringCmd {
	return s.joined().Load(ctx, c)
}

// Run calls the script, and sends its text if the server does not know it.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.joined().Run(ctx, c, keys, args...)
}

// Text returns the joined text of a script, "place/reserve" for
// place/reserve.lua: what the server runs. The error says which file does not
// exist.
func Text(name string) (string, error) {
	return join(name+".lua", make(map[string]bool))
}

// join puts in the fragments that a file includes, each where it is first included.
func join(file string, joined map[string]bool) (string, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("script %s: %w", file, err)
	}
	if !strings.Contains(string(text), include) {
		return string(text), nil
	}
	var whole strings.Builder
	for line := range strings.Lines(string(text)) {
		name, includes := strings.CutPrefix(line, include)
		if !includes {
			whole.WriteString(line)
			continue
		}
		name = strings.TrimSpace(name)
		if joined[name] {
			continue
		}
		joined[name] = true
		if !strings.Contains(name, "/") {
			name = "fragments/" + name
		}
		fragment, err := join(name+".lua", joined)
		if err != nil {
			return "", err
		}
		whole.WriteString(fragment)
	}
	return whole.String(), nil
}

// IsFragment reports whether a file is a part of scripts, and no script.
func IsFragment(name string) bool {
	return strings.HasPrefix(name, "fragments/") || strings.HasPrefix(name, "judge/")
}

// NamesByHash returns the name of every script by its SHA-1, "place/reserve" for
// place/reserve.lua.
func NamesByHash() map[string]string {
	paths, err := fs.Glob(files, "*/*.lua")
	if err != nil {
		panic(err) // only a malformed pattern fails
	}
	names := make(map[string]string)
	for _, path := range paths {
		if name := strings.TrimSuffix(path, ".lua"); !IsFragment(name) {
			names[script(name).Hash()] = name
		}
	}
	return names
}
