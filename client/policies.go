package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Policy is what is laid down for the messages of its users. What is empty is as
// usual.
type Policy struct {
	Name         string   `json:"name,omitempty"`           // 1 to 64 of a-z 0-9 _ -
	TimeZone     string   `json:"time_zone,omitempty"`      // IANA, of calendar rules and quiet hours; "" means UTC
	UserTimeZone bool     `json:"user_time_zone,omitempty"` // calendar rules count in the user's own, where one is set
	Rules        []string `json:"rules"`                    // at least one, such as 5/hour or 10/calendar_day: all have to hold
	QuietHours   []string `json:"quiet_hours,omitempty"`    // 22:00-08:00, or sat,sun 00:00-24:00
	Reach        string   `json:"reach,omitempty"`          // how far ahead a send time may lie: 30d or 36h
	OnConflict   string   `json:"on_conflict,omitempty"`    // of messages that do not say; "" means OnConflictRefuse
	// AlertAt are the percents of a user's daily rule at which an alert is raised;
	// nil means 80 and 100, empty never.
	AlertAt []int  `json:"alert_at,omitzero"`
	AlertTo string `json:"alert_to,omitempty"` // who is told of it: an e-mail address or an https: URL
	// Categories say what is different for messages of a category, by its name.
	Categories map[string]PolicyCategory `json:"categories,omitempty"`
	// Version is another one after each change. It is not the caller's to set:
	// IfVersion says which one is to be replaced.
	Version int64 `json:"version,omitempty"`
}

// PolicyCategory is what a policy has for the messages of a category.
type PolicyCategory struct {
	Rules  []string `json:"rules,omitempty"`  // beside the policy's, counting these messages alone
	Exempt bool     `json:"exempt,omitempty"` // neither rules nor quiet hours judge them
	Counts *bool    `json:"counts,omitempty"` // whether they count for the others; nil means true, false goes with Exempt
}

// PolicyChange is what ApplyPolicy has done.
type PolicyChange struct {
	Old     *Policy `json:"old"` // what was stored; nil where nothing was
	New     Policy  `json:"new"` // what is stored now
	Changed bool    `json:"changed"`
}

// Policies returns all policies by name, and the names of those that the API
// can't read since only a newer version of it can. It takes a key with the scope
// admin, as do all calls about policies and users' settings.
func (c *Client) Policies(ctx context.Context) (all []Policy, unreadable []string, err error) {
	var answer struct {
		Policies   []Policy `json:"policies"`
		Unreadable []string `json:"unreadable"`
	}
	err = c.do(ctx, call{doing: "listing policies", method: http.MethodGet, path: "/v1/policies"}, &answer)
	return answer.Policies, answer.Unreadable, err
}

// Policy returns a policy. The error is ErrNotFound where there is none.
func (c *Client) Policy(ctx context.Context, name string) (Policy, error) {
	var p Policy
	err := c.aboutPolicy(ctx, call{doing: "asking for a policy", method: http.MethodGet}, name, nil, &p)
	return p, err
}

// ApplyPolicy makes a policy, or replaces the one of its name, whole: what is
// empty is as usual, not as it was. It holds from the next decision on, in every
// program within two seconds, and changes nothing where it is stored like this
// already. What is scheduled keeps its place: PreviewPolicy says what would not
// fit, and RefitPolicy does something about it.
func (c *Client) ApplyPolicy(ctx context.Context, p Policy, only ...Condition) (PolicyChange, error) {
	var change PolicyChange
	what := call{doing: "applying a policy", method: http.MethodPut, header: headerOf(only)}
	err := c.aboutPolicy(ctx, what, p.Name, p, &change)
	return change, err
}

// aboutPolicy makes a call that has the address of a policy.
func (c *Client) aboutPolicy(ctx context.Context, what call, name string, body, into any) error {
	what, err := what.ofPolicy(name, body)
	if err != nil {
		return err
	}
	return c.do(ctx, what, into)
}

// ofPolicy is the call with the address of a policy, or of what is below, and with
// a body, unless it is nil.
func (what call) ofPolicy(name string, body any, below ...string) (call, error) {
	if name == "" {
		return what, fmt.Errorf("%s: %w", what.doing, invalid("name", "is missing"))
	}
	what.path = strings.Join(append([]string{"/v1/policies", segment(name)}, below...), "/")
	return what.with(body)
}
