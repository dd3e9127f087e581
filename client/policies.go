package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

type (
	// Policy is the rules that a user's messages are judged by. Version changes with
	// each change of the policy; a request ignores it: see IfVersion.
	// In a request, an empty field means its default.
	Policy = message.Policy
	// PolicyCategory holds the rules of one category.
	PolicyCategory = policy.CategoryDocument
	// PolicyChange is the answer to a policy that was applied.
	PolicyChange = message.PolicyChange
	// PolicyVersion is a version of a policy: who stored it, and when. Its Policy is nil of
	// a deletion, and if only a newer API can read it.
	PolicyVersion = message.PolicyVersion
	// PolicyDeletion is the answer to a policy that was deleted.
	PolicyDeletion = message.PolicyDeletion
)

// ListedPolicy is a policy of the list of all policies.
type ListedPolicy struct {
	Policy

	// Unreadable is set if only a newer API can read the policy. Then Name is all that is
	// known.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Policies yields all policies by name. It asks for the next page when one is used up. An
// error is the last thing that it yields. All calls about policies and users' settings
// need a key with the scope admin.
func (c *Client) Policies(ctx context.Context, r PageRequest) iter.Seq2[ListedPolicy, error] {
	return pagesOf(ctx, c, "listing policies", "/v1/policies", r, func(a message.Policies) ([]ListedPolicy, string) {
		var page []ListedPolicy
		for _, p := range a.Policies {
			page = append(page, ListedPolicy{Policy: p})
		}
		for _, name := range a.Unreadable {
			page = append(page, ListedPolicy{Policy: Policy{Name: name}, Unreadable: true})
		}
		slices.SortFunc(page, func(x, y ListedPolicy) int { return strings.Compare(x.Name, y.Name) })
		return page, a.NextCursor
	})
}

// Policy returns a policy. The error is ErrNotFound if there is none.
func (c *Client) Policy(ctx context.Context, name string) (Policy, error) {
	var p Policy
	err := c.callPolicy(ctx, call{doing: "asking for a policy", method: http.MethodGet}, name, nil, &p)
	return p, err
}

// ApplyPolicy creates a policy, or replaces the policy with its name as a whole: an empty
// field gets its default. It takes effect in every program within two seconds. To apply
// the stored policy again changes nothing. Scheduled messages keep their times:
// PreviewPolicy lists those that would not fit, RefitPolicy moves or cancels them.
func (c *Client) ApplyPolicy(ctx context.Context, p Policy, only ...Condition) (PolicyChange, error) {
	var change PolicyChange
	what := call{doing: "applying a policy", method: http.MethodPut, header: headerOf(only)}
	err := c.callPolicy(ctx, what, p.Name, p, &change)
	return change, err
}

// DeletePolicy deletes a policy. The error is ErrNotFound if there is none, and a *Refusal
// with CodePolicyInUse while settings of users name it: see Users. RollbackPolicy brings it
// back within 30 days.
//
// If an earlier try, whose answer got lost, deleted the policy, the error is ErrNotFound.
func (c *Client) DeletePolicy(ctx context.Context, name string, only ...Condition) (PolicyDeletion, error) {
	var done PolicyDeletion
	what := call{doing: "deleting a policy", method: http.MethodDelete, header: headerOf(only)}
	err := c.callPolicy(ctx, what, name, nil, &done)
	return done, err
}

// PolicyVersions returns the versions of a policy that are kept, at most 100, the newest
// first. The error is ErrNotFound if there are none.
func (c *Client) PolicyVersions(ctx context.Context, name string) ([]PolicyVersion, error) {
	const doing = "asking for the versions of a policy"
	what, err := call{doing: doing, method: http.MethodGet}.ofPolicy(name, nil, "versions")
	if err != nil {
		return nil, err
	}
	var answer message.PolicyVersions
	err = c.do(ctx, what, &answer)
	return answer.Versions, err
}

// RollbackPolicy stores an earlier version of a policy again, under a new version. It takes
// effect as ApplyPolicy does. The error is ErrNotFound if the version is not kept.
func (c *Client) RollbackPolicy(ctx context.Context, name string, version int64, only ...Condition) (PolicyChange, error) {
	what := call{doing: "rolling a policy back", method: http.MethodPost, header: headerOf(only)}
	what, err := what.ofPolicy(name, message.PolicyRollback{Version: version}, "rollback")
	if err != nil {
		return PolicyChange{}, err
	}
	var change PolicyChange
	err = c.do(ctx, what, &change)
	return change, err
}

// callPolicy makes a call to the address of a policy.
func (c *Client) callPolicy(ctx context.Context, what call, name string, body, into any) error {
	what, err := what.ofPolicy(name, body)
	if err != nil {
		return err
	}
	return c.do(ctx, what, into)
}

// ofPolicy returns the call with the address of a policy, or below it, and with a body;
// nil means none.
func (what call) ofPolicy(name string, body any, below ...string) (call, error) {
	if name == "" {
		return what, fmt.Errorf("%s: %w", what.doing, invalid("name", "is missing"))
	}
	what.path = strings.Join(append([]string{"/v1/policies", segment(name)}, below...), "/")
	return what.with(body)
}
