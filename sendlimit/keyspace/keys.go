package keyspace

import (
	"cmp"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Reservation is a message's place in its user's timeline.
type Reservation struct {
	ID string
	At time.Time
}

// After reports whether a reservation comes after another in a list: by time, then by id.
func (r Reservation) After(o Reservation) bool {
	return r.At.After(o.At) || r.At.Equal(o.At) && r.ID > o.ID
}

// Partitions is the number of hash tags that users are spread over. It never changes: another
// number would give every user other keys.
const Partitions = 1024

// DefaultPrefix begins every key unless options say otherwise.
const DefaultPrefix = "sl"

// Keys spells every key of a store. All keys of one user share a hash tag, so that a script may
// touch them together in a Redis Cluster.
//
//	sl:{p0042}:u:<user>        ZSET  the user's timeline: message id -> send time, Unix ms
//	sl:{p0042}:x:<user>        ZSET  the places that do not count: message id -> send time, Unix ms
//	sl:{p0042}:c:<category>:<user>  ZSET  places of the user's timeline that are of a category, in the same form
//	sl:{p0042}:m:<user>:<id>   HASH  the record of a message, see lua/fragments/record.lua
//	sl:{p0042}:watch           ZSET  the near list: active messages that are or will soon be in the queue: watch member ->
//	                           when to check, Unix ms
//	sl:{p0042}:far:<0 to f>    ZSET  the far lists: active messages that are due later, in the same form; see
//	                           lua/fragments/watch.lua. Near and far lists together are the watch list
//	sl:{p0042}:ids             ZSET  the records by id: index member -> hash of the id, see IndexMember and IDScore;
//	                           the first IndexHead, then in ids:<0 to f>; those with long members in ids:long
//	sl:{p0042}:camps           ZSET  those with a campaign by account and campaign, in the same form and parts, see CampaignScore
//	sl:{p0042}:dead            ZSET  the dead letters: dead-letter member -> when it ended, Unix ms; expires with the last
//	sl:{p0042}:l:<user>        STRING  the late mark: everything before it in the timeline has ended, Unix ms
//	sl:{p0042}:w:<user>        ZSET  late messages that wait for a later time: message id -> promised time, Unix ms
//	sl:{p0042}:e:<user>        ZSET  ended messages that gave their place back: message id -> send time, Unix ms
//	sl:{p0042}:draft           HASH  a record that replaces another one, for as long as a script runs
//	sl:{p0042}:holds           ZSET  calls with charges that are not settled: call -> when to check, Unix ms
//	sl:{p0042}:h:<call>        STRING  the charges of such a call, see lua/fragments/charge.lua. For a throttle, "+in" or "+out" follows
//	sl:{p0042}:q:<account>:<unit>:<start>  STRING  an account's charge in an hour (h) or day (d), and the settled part of
//	                           a day (s)
//	sl:{p0042}:back:<account>:<unit>:<start>  STRING  how many messages of a day (d) or hour (h) were given back by cancellation
//	sl:{p0042}:q:~<throttle>:h:<start>     STRING  a throttle's charge in its minute or hour
//	sl-dry-<token>:…           the same for a dry run, and {p0042}:copies, HASH, the keys to remove
//	sl:{p0042}:o:<user>        HASH  the user's own settings, see UserSettings
//	sl:{p0042}:d:<user>        STRING  the user's devices, a line for each, see package devices
//	sl:{p0042}:devices         HASH  accounts' numbers of devices of the partition's users, see lua/fragments/device_counts.lua
//	sl:{p0042}:owners          HASH  which users have the addresses whose hashes are in the partition, see lua/fragments/owners.lua
//	sl:{d:<account>}:devices   HASH  an account's number of devices: partition -> number; "all" -> their sum
//	sl:{d:<account>}:holds     ZSET  room that is held for devices which are being registered: token -> until when, Unix ms; expires
//	sl:{p0042}:users           ZSET  which users have settings, see lua/fragments/index.lua
//	sl:{p0042}:mark            STRING  nothing: written before a wait for replicas and before the log is
//	                           rewritten, see store.RewriteLogs; expires
//	sl:{p0042}:claims:<policy> SET  tokens of changes that are about to give users the policy; expires
//	sl:{p0042}:alert:<u|a>:<subject>:<day>  STRING  the highest threshold of a quota, percent, that was alerted on a day
//	sl:{p0042}:alert:e:<event>/<key>:<start>  STRING  the same of an event, in a period: "80@500" for a limit of 500
//	sl:{p0042}:notices         ZSET  every alert that has not ended: alert id -> when to check, Unix ms
//	sl:{p0042}:n:<notice id>   HASH  an alert, see lua/fragments/outbox.lua
//	sl:{p0042}:deadnotices     ZSET  failed alerts: alert id -> when it ended, Unix ms
//	sl:{p0042}:gathered        ZSET  users for the next digest, see lua/fragments/user_alert.lua -> since when, Unix ms
//	sl:{p0042}:events          STREAM  events of messages, for a worker to gather, see lua/fragments/event.lua
//	sl:{e:<account>}:events    STREAM  the events of an account; "*" has those of all accounts
//	sl:{e:<account>}:gathered  HASH  what was gathered for it: partition -> last id of the partition's stream
//	sl:listeners               HASH  accounts with listeners for their events: account or "*" -> until when, Unix ms
//	sl:arrivals                STREAM  one entry: that a task was put into a queue, for workers that wait for one
//	sl:turn:<work>             STRING  when the turn of the work ends, Unix ms, see lua/turn/take.lua; expires soon after
//	sl:turn:<refit|campaign|follow>:<name>  HASH  the progress of a job, see lua/turn/job.lua; expires
//	sl:ended:<account>/<campaign>  STRING  since when the campaign has ended, Unix ms; expires
//	sl:stopped                 HASH  the paused campaigns: account/campaign -> since when, Unix ms; and the states of the
//	                           channels, see Stopped
//	sl:{audit}:ids             ZSET  the entries of the log of changes, by their ids: id -> 0, see lua/audit/begin.lua
//	sl:{audit}:entries         HASH  the entries: id -> JSON; "<id> end" -> how the change ended; "<id> more" -> number of later refusals without an entry
//	sl:{audit}:own:<account>   ZSET  the account's entries that were not refused: id -> 0; "" has the operators' entries
//	sl:{audit}:refused:<account>  ZSET  the account's refusals: id -> 0, see lua/audit/end.lua
//	sl:{audit}:begun:<token>   STRING  the id of an entry, in case the call is repeated; expires soon
//	sl:{policies}:stored       HASH  the policies: name -> JSON
//	sl:{policies}:versions:<name>  LIST  its versions, the newest first, see lua/fragments/policy_change.lua
//	sl:{policies}:deletion:<name>  STRING  that it is being deleted or was, see lua/setting/policy_mark.lua
//	sl:{policies}:changes      ZSET  every policy that ever existed: name -> number of its last change
//	sl:{policies}:windows      ZSET  present and former windows of policies, see lua/fragments/policy_change.lua
//	sl:{activity}:m:<start>    HASH  outcomes of all messages in a minute from start, Unix ms, see package
//	                           activity; h:<start> for an hour; d:<account>:<start> for a day of an account
//	sl:{activity}:calls        STRING  the tokens of the last calls that added to these, see lua/count/add_once.lua
//	sl:forecast                STRING  how many messages are due when, JSON, see package forecast; expires
//	sl:meta                    HASH  the version of this layout, the address under which the store was last delivered, how
//	                           many keys each server had evicted (evicted:<address>), and what seals the cursors of the
//	                           API, see package seal
//	sl:{p0042}:count:<key>:<name>:<start>      STRING  a counter in the natural period from start, Unix ms: its count;
//	                           for a window <name>:w, HASH, see lua/fragments/counters.lua. Both expire with their period.
//	                           ~<token> beside them, STRING, that a call was given back, for a minute
//	sl:{p0042}:event:<name>    HASH  the limits of an event, see lua/fragments/counted.lua
//	sl:{p0042}:ev:<name>:<key>:<name>:<start>  the same as :count:, for calls of the event. All keys of an event are in
//	                           its partition, with the alerts of its counters
//	sl:events                  SET  the names of the events that have limits, or once had
//	sl:{accounts}:accounts     HASH  the accounts: name -> account, JSON
//	sl:{accounts}:keys         HASH  their API keys: SHA-256 of the key, hex -> name of the account
//	sl:{accounts}:tiers        HASH  the tiers: name -> tier, JSON
//	sl:{sessions}:ends         ZSET  the sessions of the dashboard: SHA-256 of the cookie -> when it ends, Unix ms
//	sl:{sessions}:<sha256>     STRING  the account of a session, with the SHA-256 of the API key, see package session; expires
//	sl:{accounts}:callbacks    SET  the names of the accounts that have a callback for their events
//	sl:{e:<account>}:callback  HASH  the progress of an account's callback, see lua/fragments/callback.lua
//	sl:{e:<account>}:dead      STREAM  events that the callback of an account did not accept
//	sl:{pace:NAME}:rate        STRING  the rate of the permits of a name, see lua/fragments/permits.lua
//	sl:{pace:NAME}:permits     ZSET  permits taken overall, and :permits:<client> by each client: token/1 … -> when, Unix ms
//	sl:{pace:NAME}:pause       STRING  until when a target accepts no calls, Unix ms
//	sl:{pace:NAME}:learned     STRING  how fast it accepts calls, see lua/rate/learn.lua; expires
//	sl:{p0042}:tokens:<key>    HASH  a token bucket, see lua/fragments/tokens.lua
//
// Both a user and an id may contain colons. In a record's key a colon of the id is written as a
// slash, which no id has. So the id is what follows the last colon, and no two messages share a
// key.
type Keys struct {
	prefix     string
	Partitions []string // "sl:{p0000}:" and so on
}

// NewKeys returns the keys that begin with prefix, 1 to 32 of a-z 0-9 _ -; "" means DefaultPrefix.
// The error is an *InvalidError.
func NewKeys(prefix string) (Keys, error) {
	if len(prefix) > 32 || !OnlyBytes(prefix, "abcdefghijklmnopqrstuvwxyz0123456789_-") {
		return Keys{}, &fault.InvalidError{Field: "prefix", Value: prefix, Want: "1 to 32 of a-z 0-9 _ -"}
	}
	return KeysUnder(prefix), nil
}

// KeysUnder returns the keys that begin with a valid prefix; "" means DefaultPrefix.
func KeysUnder(prefix string) Keys {
	prefix = cmp.Or(prefix, DefaultPrefix)
	// One string for all partitions, since every part of a program builds Keys, and so does each dry run.
	size := len(prefix + ":{}:" + Tag(0))
	text := make([]byte, 0, Partitions*size)
	for p := range Partitions {
		text = append(append(text, prefix...), ":{"...)
		text = append(appendTag(text, p), "}:"...)
	}
	all := string(text)
	k := Keys{prefix: prefix, Partitions: make([]string, Partitions)}
	for p := range k.Partitions {
		k.Partitions[p] = all[p*size : (p+1)*size]
	}
	return k
}

// Tag returns the hash tag of a partition, which decides its slot in a cluster. All tags are of the
// same size.
func Tag(partition int) string { return string(appendTag(nil, partition)) }

func appendTag(text []byte, partition int) []byte {
	at := len(text)
	text = strconv.AppendInt(text, int64(10_000+partition), 10)
	text[at] = 'p'
	return text
}

// Partition returns the partition of a user: FNV-1a 32 of the name, modulo Partitions.
func Partition(user string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash never fails
	return int(h.Sum32() % Partitions)
}

// Prefix returns the prefix of every key.
func (k Keys) Prefix() string { return k.prefix }

// Timeline returns the key of a user's timeline.
func (k Keys) Timeline(user string) string {
	return k.Partitions[Partition(user)] + "u:" + user
}

// Uncounted returns the key of a user's places that do not count for other messages: those of an
// exempt, uncounted category, see policy.CategoryRules. Their records say so.
func (k Keys) Uncounted(user string) string {
	return k.Partitions[Partition(user)] + "x:" + user
}

// Category returns the key of the places in a user's timeline whose messages are of a category,
// which is not "". Only messages with a record have one. The set is kept whether or not a policy
// has rules for the category: later rules count messages that were accepted before. With ids of 36
// bytes a place takes 60 bytes in a set of 10, and 150 in one of 300.
func (k Keys) Category(user, category string) string {
	return k.Partitions[Partition(user)] + "c:" + category + ":" + user
}

// Record returns the key of a message's record.
func (k Keys) Record(user, id string) string {
	return k.RecordPrefix(user) + strings.ReplaceAll(id, ":", "/")
}

// RecordPrefix returns the prefix of the keys of all records of a user.
func (k Keys) RecordPrefix(user string) string {
	return k.Partitions[Partition(user)] + "m:" + user + ":"
}

// DeadLetters returns the key of the dead letters of a partition.
func (k Keys) DeadLetters(partition int) string { return k.Partitions[partition] + "dead" }

// DeadLettersOf returns the key of the dead letters of a user's partition.
func (k Keys) DeadLettersOf(user string) string { return k.DeadLetters(Partition(user)) }

// LateMark returns the key of the time before which everything in a user's timeline is known to
// have ended.
func (k Keys) LateMark(user string) string {
	return k.Partitions[Partition(user)] + "l:" + user
}

// Waiting returns the key of a user's late messages that got a later time. Some of them may have
// ended or been moved since. The key expires with the last of them.
func (k Keys) Waiting(user string) string {
	return k.Partitions[Partition(user)] + "w:" + user
}

// Ended returns the key of a user's messages that were cancelled, dropped or failed and so are in
// no timeline. With ids of 10 to 20 bytes a message takes 20 to 40 bytes, or 100 to 120 if there
// are more than 128 of them. The key expires with the last record.
func (k Keys) Ended(user string) string {
	return k.Partitions[Partition(user)] + "e:" + user
}

// Settings returns the key of a user's own settings.
func (k Keys) Settings(user string) string {
	return k.Partitions[Partition(user)] + "o:" + user
}

// UsersWithSettings returns the key of the users of a partition who have settings.
func (k Keys) UsersWithSettings(partition int) string { return k.Partitions[partition] + "users" }

// Mark returns the key of a partition that is written only to have a write: before a wait for
// replicas, and before the log is rewritten.
func (k Keys) Mark(partition int) string { return k.Partitions[partition] + "mark" }

// Copies returns the key of the copies that a dry run made in a partition.
func (k Keys) Copies(partition int) string { return k.Partitions[partition] + "copies" }

// Arrivals returns the key that tells idle workers of new tasks in the queue.
func (k Keys) Arrivals() string { return k.prefix + ":arrivals" }

// Meta returns the key of the store's single values: the layout's version, the address, the key of
// cursors.
func (k Keys) Meta() string { return k.prefix + ":meta" }

// Accounts returns the key of the accounts. It shares a hash tag with AccountKeys and Tiers.
func (k Keys) Accounts() string { return k.prefix + ":{accounts}:accounts" }

// AccountKeys returns the key of the hashes of all API keys.
func (k Keys) AccountKeys() string { return k.prefix + ":{accounts}:keys" }

// Tiers returns the key of the tiers.
func (k Keys) Tiers() string { return k.prefix + ":{accounts}:tiers" }

// Counters returns the prefix of the keys of the counters of a call without an event.
func (k Keys) Counters(key string) string {
	return k.Partitions[Partition(key)] + "count:" + key + ":"
}

// Event returns the key of the limits of an event.
func (k Keys) Event(name string) string { return k.Partitions[Partition(name)] + "event:" + name }

// EventCounters returns the prefix of the keys of the counters of an event's calls. They share a
// hash tag with the event.
func (k Keys) EventCounters(name, key string) string {
	return k.Partitions[Partition(name)] + "ev:" + name + ":" + key + ":"
}

// Events returns the key of the names of all events that have or had limits.
func (k Keys) Events() string { return k.prefix + ":events" }

// Tokens returns the key of a token bucket.
func (k Keys) Tokens(key string) string {
	return k.Partitions[Partition(key)] + "tokens:" + key
}
