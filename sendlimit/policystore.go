package sendlimit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// PolicyStore keeps policies in the store, the only place they live: every
// process reads its rules there.
type PolicyStore struct {
	client redis.Cmdable
	keys   Keys
}

// storedPolicy is a policy as the store has it.
type storedPolicy struct {
	Name     string   `json:"name"`
	TimeZone string   `json:"time_zone,omitempty"`
	Rules    []string `json:"rules"`
	AlertAt  []int    `json:"alert_at,omitzero"` // absent is the usual, empty is never
	AlertTo  string   `json:"alert_to,omitempty"`
}

// NewPolicyStore returns the policies under a prefix, "" for DefaultPrefix.
func NewPolicyStore(client redis.Cmdable, prefix string) (*PolicyStore, error) {
	keys, err := NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &PolicyStore{client: client, keys: keys}, nil
}

// Load returns a policy; ok is false if the store has none of that name.
func (s *PolicyStore) Load(ctx context.Context, name string) (p Policy, ok bool, err error) {
	text, err := s.client.Get(ctx, s.keys.Policy(name)).Result()
	if errors.Is(err, redis.Nil) {
		return Policy{}, false, nil
	}
	if err != nil {
		return Policy{}, false, Unavailable(err, "loading the policy")
	}
	var stored storedPolicy
	if err = json.Unmarshal([]byte(text), &stored); err == nil {
		p, err = ParsePolicy(stored.Name, stored.TimeZone, stored.Rules...)
	}
	if err == nil {
		p.AlertAt, p.AlertTo = stored.AlertAt, stored.AlertTo
		err = p.validateAlerts()
	}
	if err != nil {
		return Policy{}, false, &UnavailableError{
			Detail: fmt.Sprintf("the rules of policy %q in the store can't be read: apply them anew, or run the newer program that wrote them", name),
			Err:    err,
		}
	}
	return p, true, nil
}

// Apply stores a policy in place of the one of its name. It holds from the
// next decision of every process that looks; what is reserved keeps its
// places, and what was forgotten under a shorter window stays forgotten.
func (s *PolicyStore) Apply(ctx context.Context, p Policy) error {
	text, err := s.encode(p)
	if err != nil {
		return err
	}
	if err := s.client.Set(ctx, s.keys.Policy(p.Name), text, 0).Err(); err != nil {
		return Unavailable(err, "storing the policy")
	}
	return nil
}

// Seed stores a policy if the store has none of its name, and returns the one
// that the store has then.
func (s *PolicyStore) Seed(ctx context.Context, p Policy) (Policy, error) {
	text, err := s.encode(p)
	if err != nil {
		return Policy{}, err
	}
	if err := s.client.SetNX(ctx, s.keys.Policy(p.Name), text, 0).Err(); err != nil {
		return Policy{}, Unavailable(err, "storing the policy")
	}
	stored, _, err := s.Load(ctx, p.Name)
	return stored, err
}

func (s *PolicyStore) encode(p Policy) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	stored := storedPolicy{Name: p.Name, TimeZone: p.TimeZone, AlertAt: p.AlertAt, AlertTo: p.AlertTo}
	for _, r := range p.Rules {
		stored.Rules = append(stored.Rules, r.String())
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return text, nil
}
