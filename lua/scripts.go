package lua

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Scripts of timelines.
var (
	Reserve       = script("place/reserve")          // takes the place of a message, or returns why not
	ReserveMany   = script("place/reserve_many")     // takes the places of several new messages of one user, in order
	Check         = script("place/check")            // returns what Reserve would answer; writes nothing
	Move          = script("place/move")             // gives a reservation another place, or returns why not
	Release       = script("place/release")          // gives a reservation back; with a record, it cancels the message
	RecordSent    = script("place/record_sent")      // records a message that was sent in the past
	NextFree      = script("place/next_free")        // finds the next free times, each with those before it taken; writes nothing
	List          = script("place/list")             // lists a user's reservations, ascending by send time, then id
	Times         = script("place/times")            // returns the send times of a user's places in a span; writes nothing
	CopyForDryRun = script("place/copy_for_dry_run") // copies a user's timeline and a record for a dry run
	FreeLost      = script("place/free_lost")        // frees places whose messages have no record, and corrects others
	Refit         = script("refit/refit")            // lists a user's reservations that do not fit the rules; writes nothing
)

// Scripts of messages and the watch list.
var (
	Claim       = script("message/claim")      // is the gate that a message passes just before its delivery
	Settle      = script("message/settle")     // records the outcome of a delivery
	Resume      = script("message/resume")     // allows a message of a resumed campaign to be claimed again
	BringNear   = script("message/bring_near") // moves entries of far lists to the near list
	HandOver    = script("message/hand_over")  // decides which due entries go into the queue now
	Renew       = script("message/renew")      // checks a message whose entry is due
	Mend        = script("message/mend")       // completes a change of a message that a torn log cut off
	Revive      = script("message/revive")     // makes a dead letter pending again, or returns why not
	Edit        = script("message/edit")       // changes content, metadata and expiry of a pending message
	Purge       = script("message/purge")      // removes a dead letter with its record
	Forget      = script("message/forget")     // removes an entry of the index whose message is gone
	Refile      = script("message/refile")     // gives an entry of the index the score of its campaign
	ForecastFar = script("forecast/count_far") // counts the messages in far lists by due time; writes nothing
)

// Scripts of turns, campaigns and channels.
var (
	TurnTake         = script("turn/take")              // gives one of several programs the turn to do some work
	TurnJob          = script("turn/job")               // takes, keeps or ends the turn of a long job
	CampaignPause    = script("setting/campaign_pause") // pauses a campaign
	ChannelStop      = script("channel/stop")           // stops a channel, unless it is stopped already
	ChannelResume    = script("channel/resume")         // resumes a stopped channel
	ChannelTakeProbe = script("channel/take_probe")     // gives one worker the turn to probe a stopped channel
)

// Scripts of accounts and their charges.
var (
	Hold              = script("charge/hold")         // charges for messages that are about to be accepted, moved or cancelled
	SettleHold        = script("charge/settle_hold")  // ends the holds of changes that were made, or will not be made
	ChangeQuota       = script("charge/change_quota") // applies a changed quota to the alerts of a day
	HoldLook          = script("charge/hold_look")    // returns the holds that charged a message's place; writes nothing
	AccountFind       = script("account/find")        // reads an account with its tier, by its name or an API key
	AccountChange     = script("account/change")      // stores an account if it has not changed since it was read
	AccountRemoveTier = script("account/remove_tier") // removes a tier that no account has
)

// Scripts of alerts.
var (
	NoticePut    = script("notice/put")    // puts an alert into the outbox, once for each id
	NoticeClaim  = script("notice/claim")  // claims an alert for one delivery
	NoticeRenew  = script("notice/renew")  // renews the lease of the delivery that has an alert
	NoticeSettle = script("notice/settle") // records the outcome of the delivery of an alert
	NoticeRevive = script("notice/revive") // puts a failed alert back into the outbox
	NoticePurge  = script("notice/purge")  // removes the content of a failed alert
)

// Scripts of counters, permits and token buckets.
var (
	Count           = script("count/count")            // counts a call in all of its counters, or in none if one refuses
	GiveBack        = script("count/give_back")        // takes a call off all of its counters again, or resets them
	AddOnce         = script("count/add_once")         // adds to the numbers of some hashes, once for each call
	CountLook       = script("count/look")             // returns what Count would answer; writes nothing
	PermitsAcquire  = script("rate/permits_acquire")   // takes permits, or returns how long until enough are free
	PermitsGiveBack = script("rate/permits_give_back") // gives the permits of one call back before their time
	PermitsLook     = script("rate/permits_look")      // returns how many permits are taken; writes nothing
	TokensTake      = script("rate/tokens_take")       // takes tokens, or returns how long until there are enough
	TokensGiveBack  = script("rate/tokens_give_back")  // puts tokens back into a bucket, up to its capacity
	TokensLook      = script("rate/tokens_look")       // returns how many tokens are in a bucket; writes nothing
	Pause           = script("rate/pause")             // pauses a target, unless it is paused for longer already
	Learn           = script("rate/learn")             // learns how fast a target accepts calls
)

// Scripts of policies and users' settings.
var (
	PolicyApply      = script("setting/policy_apply")      // replaces a policy under the next version
	PolicyMark       = script("setting/policy_mark")       // marks a policy as being deleted, or removes the mark
	PolicyDelete     = script("setting/policy_delete")     // deletes a policy that is still marked by this deletion
	SettingsChange   = script("setting/settings_change")   // stores a user's settings, unless they changed since they were read
	SettingsComplete = script("setting/settings_complete") // ends the follow-through of a change of a user's settings
)

// Scripts of devices.
var (
	DeviceAdd         = script("device/add")          // registers a device of a user, or registers it again
	DeviceRemove      = script("device/remove")       // removes devices of a user
	DeviceClaim       = script("device/claim")        // claims an address for a user, or for nobody
	DeviceSettleClaim = script("device/settle_claim") // settles a claim of an address, or withdraws it
	DeviceRecount     = script("device/recount")      // counts the devices of a user again
	DeviceHold        = script("device/hold")         // holds room for one more device of an account
	DeviceNoteCount   = script("device/note_count")   // stores an account's number of devices in a partition
	DeviceNoteSuccess = script("device/note_success") // records that devices accepted a push in this hour
	DeviceSuspect     = script("device/suspect")      // marks devices of a user as suspect, or removes the mark
)

// Scripts of the log of changes and of events.
var (
	AuditBegin     = script("audit/begin")           // adds an entry to the log of changes, and removes old ones
	AuditEnd       = script("audit/end")             // records how a change ended
	AuditErase     = script("audit/erase")           // replaces an entry by one without a user
	EventAppend    = script("event/append")          // appends events of partitions to those of an account, each once
	EventListen    = script("event/listen")          // records until when an account's events have a listener
	CallbackBegin  = script("event/callback_begin")  // creates the state of an account's callback
	CallbackTake   = script("event/callback_take")   // gives one worker the turn to post events to a callback
	CallbackSettle = script("event/callback_settle") // records the outcome of a request to a callback
	DeadRetry      = script("event/dead_retry")      // appends dead events to the events of their account again
)

// all are the scripts of this file.
var all []*Script

// All returns every script, for loading them into a server ahead of use: a pipeline cannot fall
// back from EVALSHA to EVAL.
func All() []*Script { return slices.Clone(all) }

// NameOf returns the name of a script, such as "message/claim", by its hash or its text; "" if it
// is none of All.
func NameOf(hashOrText string) string {
	if name := names()[hashOrText]; name != "" {
		return name
	}
	return names()[redis.NewScript(hashOrText).Hash()]
}

// names caches NamesByHash.
var names = sync.OnceValue(NamesByHash)

//go:embed */*.lua
var files embed.FS

// include begins a line that includes a fragment: "judge/rules", or a name in fragments/.
const include = "--@include "

// Script is a script that is joined at its first use: most programs need only a few.
type Script struct {
	name   string
	joined func() *redis.Script
}

func script(name string) *Script {
	s := &Script{name: name, joined: sync.OnceValue(func() *redis.Script {
		text, err := Text(name)
		if err != nil {
			panic(err) // the files are compiled in, and a test joins all
		}
		return redis.NewScript(text)
	})}
	all = append(all, s)
	return s
}

// Hash returns the SHA-1 by which a server identifies the script.
func (s *Script) Hash() string { return s.joined().Hash() }

// Load loads the script into a server.
func (s *Script) Load(ctx context.Context, c redis.Scripter) *redis.StringCmd {
	return s.joined().Load(ctx, c)
}

// Run calls the script, and sends its text if the server does not know it.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.joined().Run(ctx, c, keys, args...)
}

// Text returns the joined text of a script, as the server runs it: "place/reserve" for
// place/reserve.lua. The error says which file does not exist.
func Text(name string) (string, error) {
	return join(name+".lua", make(map[string]bool))
}

// join inserts the fragments that a file includes, each where it is first included.
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

// NamesByHash returns the name of every script by its SHA-1, "place/reserve" for place/reserve.lua.
func NamesByHash() map[string]string {
	names := make(map[string]string, len(all))
	for _, s := range all {
		names[s.Hash()] = s.name
	}
	return names
}
