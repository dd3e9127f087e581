package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Policies keeps policies in the store: every process reads its rules there. Each has a version,
// which changes with the policy. A stored policy is a PolicyDocument in JSON.
type Policies struct {
	client redis.Cmdable
	keys   keyspace.Keys
	by     string // the author of changes
}

// AnyVersion makes Policies.Replace accept any stored version.
const AnyVersion int64 = -1

// PolicyChange is the result of Policies.Replace.
type PolicyChange struct {
	Old     *policy.Policy // the policy before; nil for none, or if it can't be read
	New     policy.Policy  // the policy after, with its version
	Changed bool           // whether they differ
	// ExactFrom is the send time from which on the policy is exact, if it has a longer window than
	// all before, because older places are forgotten. Else it is zero.
	ExactFrom time.Time
}

// VersionError is returned if a policy is not at the expected version: somebody has changed it.
// Nothing was changed.
type VersionError struct {
	Name     string
	Expected int64
	Present  int64 // 0 if there is no policy of that name
}

// Error names the current version.
func (e *VersionError) Error() string {
	switch {
	case e.Present == 0:
		return fmt.Sprintf("there is no policy %s, so no version %d of it: leave the version out to create it", e.Name, e.Expected)
	case e.Expected == 0:
		return fmt.Sprintf("there is a policy %s already, at version %d: read it first", e.Name, e.Present)
	}
	return fmt.Sprintf("policy %s is at version %d, not at %d: read it again, and repeat the change on that version", e.Name, e.Present, e.Expected)
}

// Code returns CodeVersionMismatch.
func (e *VersionError) Code() fault.Code { return fault.CodeVersionMismatch }

// By returns the same policies with an author of changes: see PolicyVersion. At most 256 bytes of
// UTF-8 without control characters; others are cut off or replaced.
func (s *Policies) By(who string) *Policies {
	by := *s
	by.by = cleanName(who)
	return &by
}

// NewPolicies returns the policies of a store.
func NewPolicies(client redis.Cmdable, keys keyspace.Keys) *Policies {
	return &Policies{client: client, keys: keys}
}

// Load returns a policy; ok is false if there is none of that name. The error is an
// *UnavailableError if only a newer program can read it.
func (s *Policies) Load(ctx context.Context, name string) (p policy.Policy, ok bool, err error) {
	text, err := s.client.HGet(ctx, s.keys.Policies(), name).Result()
	if errors.Is(err, redis.Nil) {
		return policy.Policy{}, false, nil
	}
	if err != nil {
		return policy.Policy{}, false, store.Explain(err, "loading the policy")
	}
	if p, err = readPolicy(text); err != nil {
		return policy.Policy{}, false, &fault.UnavailableError{
			Detail: fmt.Sprintf("the rules of policy %q in the store can't be read: apply them again, or run the newer program that wrote them", name),
			Err:    errors.New(err.Error()), // an *InvalidError in the chain would blame the caller
		}
	}
	return p, true, nil
}

// All returns the policies of the store by name, and the names of those that only a newer program
// can read. It takes two round trips.
func (s *Policies) All(ctx context.Context) (policies []policy.Policy, unreadable []string, err error) {
	policies, unreadable, _, err = s.Page(ctx, "", math.MaxInt)
	return policies, unreadable, err
}

// Page is All for at most limit policies whose names come after a name; "" comes before all. next
// is the name to continue after, "" at the end. It reads only the names of other policies.
func (s *Policies) Page(ctx context.Context, after string, limit int) (policies []policy.Policy, unreadable []string, next string, err error) {
	const doing = "loading the policies"
	names, err := s.client.HKeys(ctx, s.keys.Policies()).Result()
	if err != nil {
		return nil, nil, "", store.Explain(err, doing)
	}
	names, next = script.PageOf(names, after, limit)
	policies, unreadable, err = s.Named(ctx, names)
	return policies, unreadable, next, err
}

// Named returns the policies with these names, in the same order, and the names of those that only
// a newer program can read. It takes one round trip.
func (s *Policies) Named(ctx context.Context, names []string) (policies []policy.Policy, unreadable []string, err error) {
	const doing = "loading the policies"
	if len(names) == 0 {
		return nil, nil, nil
	}
	texts, err := s.client.HMGet(ctx, s.keys.Policies(), names...).Result()
	if err != nil {
		return nil, nil, store.Explain(err, doing)
	}
	policies, unreadable = readNamed(names, texts)
	return policies, unreadable, nil
}

// readNamed reads the answer of Named.
func readNamed(names []string, texts []any) (policies []policy.Policy, unreadable []string) {
	for i, name := range names {
		text, exists := texts[i].(string)
		if !exists {
			continue
		}
		if p, err := readPolicy(text); err != nil {
			unreadable = append(unreadable, name)
		} else {
			policies = append(policies, p)
		}
	}
	return policies, unreadable
}

// Apply creates or replaces a policy. Programs follow within 2 seconds, see sendlimit.Rules.
// Reservations keep their places. A window that is longer than every earlier one of any policy
// misses forgotten places: see PolicyChange.ExactFrom. After its own length it is exact.
func (s *Policies) Apply(ctx context.Context, p policy.Policy) error {
	_, err := s.Replace(ctx, p, AnyVersion)
	return err
}

// Replace is Apply for a version of the policy: 0 for none of its name, or AnyVersion. It returns
// the policy before and after. An identical policy keeps its version, whichever is expected, so
// that a call may be repeated. No two rules of the policy, or of a category, may have the same
// window, because a limit of a user replaces one. The error is an *InvalidError, a *VersionError or
// an *UnavailableError.
func (s *Policies) Replace(ctx context.Context, p policy.Policy, expected int64) (PolicyChange, error) {
	text, err := encodePolicy(p)
	if err != nil {
		return PolicyChange{}, err
	}
	if expected < AnyVersion {
		return PolicyChange{}, &fault.InvalidError{
			Field: "version", Value: strconv.FormatInt(expected, 10), Want: "a version from 1 on, 0 for none, or -1 for any",
		}
	}
	was, err := s.store(ctx, p, text, expected)
	if err != nil {
		return PolicyChange{}, err
	}
	if was.status < 0 {
		return PolicyChange{}, &VersionError{Name: p.Name, Expected: expected, Present: was.version}
	}
	change := PolicyChange{New: p, Changed: was.status > 0}
	change.New.Version = was.version
	if old, err := readPolicy(was.text); err == nil {
		change.Old = &old
	}
	// Without any policy nothing was accepted before.
	if keeps := p.Keeps(); change.Changed && was.kept > 0 && keeps > was.kept {
		change.ExactFrom = was.now.Add(keeps - was.kept)
	}
	return change, nil
}

// stored is a reply of lua/setting/policy_apply.lua.
type stored struct {
	status, version int64 // the current version
	text            string
	now             time.Time
	kept            time.Duration
}

func (s *Policies) store(ctx context.Context, p policy.Policy, text string, expected int64) (stored, error) {
	const doing = "storing the policy"
	by, err := json.Marshal(s.by)
	if err != nil {
		return stored{}, fmt.Errorf("%s: %w", doing, err)
	}
	args := []any{p.Name, text, expected, by, MaxVersions, p.Keeps().Milliseconds()}
	r := script.Call(ctx, s.client, lua.PolicyApply, doing, s.changeKeys(p.Name), args)
	was := stored{status: r.Int(0), version: r.Int(1), text: r.String(2), now: r.Time(3), kept: time.Duration(r.Int(4)) * time.Millisecond}
	return was, r.Err
}

// changeKeys returns the keys of the scripts that change a policy.
func (s *Policies) changeKeys(name string) []string {
	k := s.keys
	return []string{k.Policies(), k.PolicyVersions(name), k.PolicyDeletion(name), k.PolicyChanges(), k.PolicyWindows()}
}

// Seed stores a policy if there is none of its name, and returns the stored one.
func (s *Policies) Seed(ctx context.Context, p policy.Policy) (policy.Policy, error) {
	text, err := encodePolicy(p)
	if err != nil {
		return policy.Policy{}, err
	}
	if stored, ok, err := s.Load(ctx, p.Name); err != nil || ok {
		return stored, err
	}
	if _, err := s.store(ctx, p, text, 0); err != nil {
		return policy.Policy{}, err
	}
	stored, _, err := s.Load(ctx, p.Name)
	return stored, err
}

// encodePolicy returns a policy for the store, without its version.
func encodePolicy(p policy.Policy) (string, error) {
	var wrong fault.InvalidErrors
	wrong.Add(p.Validate())
	wrong.Add(p.ValidateWindows())
	if err := wrong.Err(); err != nil {
		return "", err
	}
	p.Version = 0
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return string(text), nil
}

func readPolicy(text string) (policy.Policy, error) {
	var p policy.Policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return policy.Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	return p, nil
}
