package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Entry is a change by an operator. Its JSON is stored, and the script end.lua looks for erased.
type Entry struct {
	// ID and At come from Begin: At is the store's time. Entries sort by ID.
	ID string    `json:"-"`
	At time.Time `json:"-"`
	// Account is the account that makes the change, Key the id of its API key. Both are "" without
	// keys.
	Account string `json:"account,omitempty"`
	Key     string `json:"key,omitempty"`
	// By is the name of who changes something without a key, as it says; "" for others.
	By string `json:"by,omitempty"`
	// Operator reports whether an operator makes the change, with the scope admin or without a key.
	// Pass it to Begin and End. Page does not return it.
	Operator bool   `json:"-"`
	Address  string `json:"address,omitempty"` // of the client, for display
	Action   string `json:"action"`            // a verb phrase such as "move message"; required
	// User and Message are changed, or Object is, such as the name of a policy.
	User    string `json:"user,omitempty"`
	Message string `json:"message,omitempty"`
	Object  string `json:"object,omitempty"`
	// Owner is the account that owns what is changed, if it may see the entry; "" for none.
	Owner string `json:"owner,omitempty"`
	// Detail is the change in words, without secrets and content.
	Detail string `json:"detail,omitempty"`
	// Outcome is "" while the change is running; then Done, Refused or Failed.
	Outcome string `json:"-"`
	// Code and Answer are why it was refused or failed: a code, and a sentence.
	Code    string    `json:"-"`
	Answer  string    `json:"-"`
	EndedAt time.Time `json:"-"` // zero while it is running
	// More counts later refusals in the same minute, which have no entry.
	More int `json:"-"`
	// Erased reports that User, Message, Detail and Answer were removed with the user.
	Erased bool `json:"erased,omitempty"`
}

// The outcomes of a change.
const (
	Done    = "done"
	Refused = "refused" // nothing was changed
	Failed  = "failed"  // the change may have been made
)

// The maximum lengths of texts of entries, in bytes.
const (
	MaxName   = 256  // each of Account, Key, By, Address, Action, User, Message, Object and Code
	MaxDetail = 1000 // Detail
	MaxAnswer = 500  // Answer
)

// erasedDetail replaces the detail of an erased entry.
const erasedDetail = "erased"

// text returns an entry as it is stored.
func (e Entry) text() (string, error) {
	for _, name := range []*string{&e.Account, &e.Key, &e.By, &e.Address, &e.Action, &e.User, &e.Message, &e.Object, &e.Owner} {
		*name = cut(*name, MaxName)
	}
	e.Detail = cut(e.Detail, MaxDetail)
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("writing an entry of the log of changes: %w", err)
	}
	return string(text), nil
}

// erased returns an entry without its user's data.
func (e Entry) erased() Entry {
	e.User, e.Message, e.Detail, e.Answer, e.Erased = "", "", erasedDetail, "", true
	return e
}

// cut cuts a text to a number of bytes. It removes invalid UTF-8 and parts of a character.
func cut(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}

// whose returns the account whose bounds apply to an entry. Operators share "".
func (e Entry) whose() string {
	if e.Operator {
		return ""
	}
	return e.Account
}

// read reads an entry with its id, its end, "" for a running one, and the number of further
// refusals. ok is false if they can't be read.
func read(id, text, end, more string) (e Entry, ok bool) {
	ms, _, valid := strings.Cut(id, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if !valid || err != nil || json.Unmarshal([]byte(text), &e) != nil {
		return Entry{}, false
	}
	further, err := strconv.Atoi(cmp.Or(more, "0"))
	if err != nil {
		return Entry{}, false
	}
	e.ID, e.At, e.More = id, time.UnixMilli(at).UTC(), further
	if end == "" {
		return e, true
	}
	parts := strings.SplitN(end, " ", 4) // as end.lua writes them
	if len(parts) != 4 {
		return Entry{}, false
	}
	if at, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return Entry{}, false
	}
	e.EndedAt, e.Outcome, e.Code, e.Answer = time.UnixMilli(at).UTC(), parts[1], parts[2], parts[3]
	return e, true
}

// entries reads entries from three fields each: itself, its end and the number of further refusals.
// It omits an entry that was removed meanwhile.
func entries(ids []string, values []any, doing string) ([]Entry, error) {
	if len(values) != 3*len(ids) {
		return nil, script.ReplyError(doing, fmt.Sprintf("%d fields of %d entries", len(values), len(ids)))
	}
	list := make([]Entry, 0, len(ids))
	for i, id := range ids {
		text, there := values[3*i].(string)
		if !there {
			continue
		}
		end, _ := values[3*i+1].(string)
		more, _ := values[3*i+2].(string)
		e, ok := read(id, text, end, more)
		if !ok {
			return nil, script.ReplyError(doing, "entry "+id)
		}
		list = append(list, e)
	}
	return list, nil
}

// ValidID reports whether an id has the form of Begin's ids.
func ValidID(id string) bool {
	ms, number, ok := strings.Cut(id, "-")
	return ok && digits(ms) && len(ms) <= 16 && digits(number) && len(number) == 6
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func checkID(field, id string) error {
	if !ValidID(id) {
		return &fault.InvalidError{Field: field, Value: id, Want: "an id of an entry, as Begin returns it"}
	}
	return nil
}
