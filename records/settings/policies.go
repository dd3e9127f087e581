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

// Policies keeps policies in the store, the only place they live: every
// process reads its rules there. Each has a version, which is another one
// whenever the policy is. What is stored is a PolicyDocument in JSON.
type Policies struct {
	client redis.Cmdable
	keys   keyspace.Keys
	by     string // who makes the changes
}

// AnyVersion is what Policies.Replace accepts for any stored version.
const AnyVersion int64 = -1

// PolicyChange is the result of Policies.Replace.
type PolicyChange struct {
	Old     *policy.Policy // what was stored; nil for nothing, or nothing that can be read
	New     policy.Policy  // what is stored now, with its version
	Changed bool           // whether it was stored in other words before
	// ExactFrom is from which send time on the policy is exact, if it has a longer window than
	// there was before: places that nobody was to look back at are forgotten. Else it is zero.
	ExactFrom time.Time
}

// VersionError is returned when a policy is not at the version that was to be
// replaced: somebody has changed it since. Nothing was done.
type VersionError struct {
	Name     string
	Expected int64
	Present  int64 // 0 for none of that name
}

// Error says which version there is.
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

// By returns the same policies, with a name of who makes the changes: see
// PolicyVersion. At most 256 bytes of UTF-8 without control characters; others are cut
// off or replaced.
func (s *Policies) By(who string) *Policies {
	by := *s
	by.by = cleanName(who)
	return &by
}

// NewPolicies returns the policies under a prefix, "" for DefaultPrefix.
func NewPolicies(client redis.Cmdable, prefix string) (*Policies, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Policies{client: client, keys: keys}, nil
}

// Load returns a policy; ok is false if the store has none of that name. The error
// is an *UnavailableError where only a newer program can read it.
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
			Detail: fmt.Sprintf("the rules of policy %q in the store can't be read: apply them anew, or run the newer program that wrote them", name),
			Err:    errors.New(err.Error()), // an *InvalidError in the chain would be the fault of who called
		}
	}
	return p, true, nil
}

// All returns the policies of the store by name, and the names of those that only
// a newer program can read. It takes two round trips.
func (s *Policies) All(ctx context.Context) (policies []policy.Policy, unreadable []string, err error) {
	policies, unreadable, _, err = s.Page(ctx, "", math.MaxInt)
	return policies, unreadable, err
}

// Page is All for at most limit policies, of those whose names come after a name; "" is
// before all. Next is the name after which the next page begins, "" if there are no more.
// Of the other policies it reads only the names.
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

// Named returns the policies with these names that the store has, in the same order, and
// the names of those that only a newer program can read. It takes one round trip.
func (s *Policies) Named(ctx context.Context, names []string) (policies []policy.Policy, unreadable []string, err error) {
	const doing = "loading the policies"
	if len(names) == 0 {
		return nil, nil, nil
	}
	texts, err := s.client.HMGet(ctx, s.keys.Policies(), names...).Result()
	if err != nil {
		return nil, nil, store.Explain(err, doing)
	}
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
	return policies, unreadable, nil
}

// Apply stores a policy in place of the one of its name, whatever that is. Programs
// follow it within 2 seconds, see sendlimit.Rules. What is reserved keeps its
// places. A window that is longer than every one before, of any policy, looks back at places that
// are forgotten: see PolicyChange.ExactFrom. One that was in force within its own length is exact.
func (s *Policies) Apply(ctx context.Context, p policy.Policy) error {
	_, err := s.Replace(ctx, p, AnyVersion)
	return err
}

// Replace is Apply, of a version of the policy alone: 0 where there must be none of
// its name, or AnyVersion. It returns what was stored and what is now. The same
// policy again, word for word, stays as it is at its version, whichever is
// expected: a call may be repeated. Of the rules of the policy, and of those of a
// category, no two may have the same window: a limit of a user stands for one. The
// error is an *InvalidError, a *VersionError or an *UnavailableError.
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

// stored is an answer of lua/setting/policy_apply.lua.
type stored struct {
	status, version int64 // version is the present one
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
	answer, err := script.Run(ctx, s.client, lua.PolicyApply, doing, s.changeKeys(p.Name), args)
	if err != nil {
		return stored{}, err
	}
	r := script.Read(answer, doing)
	was := stored{status: r.Int(0), version: r.Int(1), text: r.String(2), now: r.Time(3), kept: time.Duration(r.Int(4)) * time.Millisecond}
	return was, r.Err
}

// changeKeys returns the keys of the scripts that change a policy.
func (s *Policies) changeKeys(name string) []string {
	k := s.keys
	return []string{k.Policies(), k.PolicyVersions(name), k.PolicyDeletion(name), k.PolicyChanges(), k.PolicyWindows()}
}

// Seed stores a policy if the store has none of its name, and returns the one
// that the store has then.
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

// encodePolicy is a policy as the store has it, without its version.
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

// readPolicy reads what the store has.
func readPolicy(text string) (policy.Policy, error) {
	var p policy.Policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return policy.Policy{}, fmt.Errorf("reading the policy: %w", err)
	}
	return p, nil
}
