package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
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
)

// Policies returns all policies by name, and the names of those that only a newer API can
// read. All calls about policies and users' settings need a key with the scope admin.
func (c *Client) Policies(ctx context.Context) (all []Policy, unreadable []string, err error) {
	var answer message.Policies
	err = c.do(ctx, call{doing: "listing policies", method: http.MethodGet, path: "/v1/policies"}, &answer)
	return answer.Policies, answer.Unreadable, err
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
