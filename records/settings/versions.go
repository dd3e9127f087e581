package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxVersions is how many versions of a policy are kept.
const MaxVersions = 100

// versionsAfterDeletion is how long the versions of a deleted policy are kept.
const versionsAfterDeletion = 30 * 24 * time.Hour

// PolicyVersion is a version of a policy.
type PolicyVersion struct {
	Version int64
	At      time.Time // by the store's clock
	By      string    // see Policies.By; "" for unknown
	Deleted bool      // the policy was deleted: there is no Policy
	// Policy is nil if Deleted, and if only a newer program can read the version.
	Policy *policy.Policy
}

// storedVersion is an entry of the list of versions, see lua/fragments/policy_change.lua.
type storedVersion struct {
	Version int64           `json:"version"`
	At      int64           `json:"at"`
	By      string          `json:"by"`
	Deleted bool            `json:"deleted"`
	Policy  json.RawMessage `json:"policy"`
}

// Versions returns the versions of a policy, the newest first, at most MaxVersions. Those of a
// deleted policy are kept for 30 days. The error is a *fault.NoSuchError if there are none.
func (s *Policies) Versions(ctx context.Context, name string) ([]PolicyVersion, error) {
	const doing = "reading the versions of a policy"
	texts, err := s.client.LRange(ctx, s.keys.PolicyVersions(name), 0, MaxVersions-1).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	if len(texts) == 0 {
		return nil, &fault.NoSuchError{What: "policy", Name: name}
	}
	versions := make([]PolicyVersion, len(texts))
	for i, text := range texts {
		var stored storedVersion
		if err := json.Unmarshal([]byte(text), &stored); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		versions[i] = PolicyVersion{Version: stored.Version, At: time.UnixMilli(stored.At).UTC(), By: stored.By, Deleted: stored.Deleted}
		if p, err := readPolicy(string(stored.Policy)); err == nil {
			versions[i].Policy = &p
		}
	}
	return versions, nil
}

// Version returns a stored version of a policy. The error is a *fault.NoSuchError if there is none,
// and a *fault.InvalidError for the field "version" if that version is a deletion.
func (s *Policies) Version(ctx context.Context, name string, number int64) (policy.Policy, error) {
	versions, err := s.Versions(ctx, name)
	if err != nil {
		return policy.Policy{}, err
	}
	for _, v := range versions {
		switch {
		case v.Version != number:
		case v.Deleted:
			return policy.Policy{}, fault.Wrong("version", "version %d of policy %s is its deletion: choose an earlier one", number, name)
		case v.Policy == nil:
			return policy.Policy{}, &fault.UnavailableError{
				Detail: fmt.Sprintf("version %d of policy %s can't be read: run the newer program that wrote it", number, name),
			}
		default:
			return *v.Policy, nil
		}
	}
	return policy.Policy{}, &fault.NoSuchError{What: fmt.Sprintf("version %d of policy", number), Name: name}
}

// Rollback stores an earlier version of a policy again, under a new version, if the policy is at
// the expected version; see Replace, also for the errors, and Version. It restores a deleted
// policy.
func (s *Policies) Rollback(ctx context.Context, name string, to, expected int64) (PolicyChange, error) {
	p, err := s.Version(ctx, name, to)
	if err != nil {
		return PolicyChange{}, err
	}
	return s.Replace(ctx, p, expected)
}

// maxNameBytes bounds the name of an author.
const maxNameBytes = 256

// cleanName removes control characters and invalid UTF-8 from a name, and cuts it to maxNameBytes.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	if len(name) > maxNameBytes {
		name = strings.ToValidUTF8(name[:maxNameBytes], "")
	}
	return name
}
