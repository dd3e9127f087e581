package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const (
	policiesPath  = "/v1/policies"
	policyPattern = policiesPath + "/{policy}"
)

func (s *server) policyRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listPolicies", http.MethodGet, policiesPath, "policies",
				"List the policies",
				"Sorted by name."),
			scope: accounts.ScopeAdmin, says: "A page of policies.",
		}, s.listPolicies),
		operation(s, route{
			Operation: named("getPolicy", http.MethodGet, policyPattern, "policies",
				"Get a policy",
				"In the form that applyPolicy accepts. With If-None-Match and its ETag, the answer is 304 until the policy changes."),
			scope: accounts.ScopeAdmin, says: "The policy.", refuses: []int{http.StatusNotFound},
		}, s.showPolicy),
		operation(s, route{
			Operation: named("applyPolicy", http.MethodPut, policyPattern, "policies",
				"Create or replace a policy",
				"Takes effect within two seconds in every program. An invalid policy is not stored. An absent field "+
					"gets its default, not its old value. Scheduled messages keep their places and are sent as promised: dryRunPolicy "+
					"lists those that would not fit, and refitPolicy moves or cancels them. Applying the same policy again changes nothing, whatever "+
					"version If-Match names."),
			scope: accounts.ScopeAdmin, says: "The policy before and after the change.",
		}, s.applyPolicy),
	}
}

// versionProblem returns the answer to a *settings.VersionError, and other errors unchanged.
func versionProblem(err error) error {
	if outdated, ok := errors.AsType[*settings.VersionError](err); ok {
		return web.OtherVersion(strconv.FormatInt(outdated.Present, 10), outdated.Error())
	}
	return err
}

// expectedVersion returns the version of a policy that a request expects, settings.AnyVersion for
// any. If it lists several, the result is the present one, or else any of them: then the store
// reports the mismatch.
func (s *server) expectedVersion(ctx context.Context, name string, p web.Precondition) (int64, error) {
	expected := settings.AnyVersion
	if p.Existing() {
		if present, _, err := s.Policies.Load(ctx, name); err != nil || present.Version > 0 {
			return expected, err // a policy that exists is not removed
		}
		return 0, web.OtherVersion(web.NoVersion, fmt.Sprintf("there is no policy %q", name))
	}
	for _, version := range p {
		n, err := strconv.ParseUint(version, 10, 63)
		if err != nil {
			return 0, web.HeaderError("If-Match", []string{`"` + version + `"`}, `versions of a policy in quotes, as ETag has them: "7"`)
		}
		expected = int64(n)
	}
	if len(p) < 2 {
		return expected, nil
	}
	present, _, err := s.Policies.Load(ctx, name) // version 0 if there is none
	if err != nil {
		return 0, err
	}
	if p.Accepts(strconv.FormatInt(present.Version, 10)) {
		expected = present.Version
	}
	return expected, nil
}

func (s *server) listPolicies(ctx context.Context, p pageByName) (message.Policies, error) {
	var unreadable []string
	policies, next, err := readPage(ctx, s, p, func(ctx context.Context, after string, limit int) (all []policy.Policy, next string, err error) {
		all, unreadable, next, err = s.Policies.Page(ctx, after, limit)
		return all, next, err
	}, message.PolicyOf)
	return message.Policies{Policies: policies, Unreadable: unreadable, NextCursor: next}, err
}

func (s *server) showPolicy(ctx context.Context, in ofPolicy) (tagged[message.Policy], error) {
	p, err := s.storedPolicy(ctx, in)
	return tagged[message.Policy]{message.PolicyOf(p), strconv.FormatInt(p.Version, 10)}, err
}

func (s *server) storedPolicy(ctx context.Context, in ofPolicy) (policy.Policy, error) {
	p, ok, err := s.Policies.Load(ctx, in.Policy)
	if err == nil && !ok {
		err = &fault.NoSuchError{What: "policy", Name: in.Policy}
	}
	return p, err
}

// proposedPolicy is a policy in a request. Its name is the one in the path. Its version is ignored,
// since the caller only read it.
type proposedPolicy struct {
	ofPolicy

	Body object[policy.Document]
	read policy.Policy
}

func (in *proposedPolicy) check(context.Context, *server) error {
	d, name := in.Body.value, in.Policy
	var wrong fault.InvalidErrors
	if d.Name != "" && d.Name != name {
		wrong.Add(fault.Wrong("name", "the body names the policy %q, and the address %q: leave the name out of the body",
			fault.Clip(d.Name), fault.Clip(name)))
	}
	d.Name, d.Version = name, 0
	var err error
	in.read, err = d.Policy()
	wrong.Add(err)
	return wrong.Err()
}

type newPolicy struct {
	proposedPolicy

	Condition condition
}

func (in *newPolicy) check(ctx context.Context, s *server) error {
	var wrong fault.InvalidErrors
	wrong.Add(in.proposedPolicy.check(ctx, s))
	wrong.Add(s.Contacts.Check("alert_to", in.Body.value.AlertTo))
	return wrong.Err()
}

func (s *server) applyPolicy(ctx context.Context, in newPolicy) (tagged[message.PolicyChange], error) {
	return s.changePolicy(ctx, in.Policy, in.Condition, func(by *settings.Policies, expected int64) (settings.PolicyChange, error) {
		return by.Replace(ctx, in.read, expected)
	})
}

// changePolicy changes a policy if it has the expected version.
func (s *server) changePolicy(
	ctx context.Context, name string, c condition, change func(by *settings.Policies, expected int64) (settings.PolicyChange, error),
) (done tagged[message.PolicyChange], err error) {
	expected, err := s.expectedVersion(ctx, name, c.Precondition)
	if err != nil {
		return done, err
	}
	changed, err := change(s.policiesBy(ctx), expected)
	if err != nil {
		return done, versionProblem(err)
	}
	if changed.Changed {
		s.follow(ctx)
	}
	done.version = strconv.FormatInt(changed.New.Version, 10)
	done.value = message.PolicyChange{New: message.PolicyOf(changed.New), Changed: changed.Changed, ExactFrom: message.Time{Time: changed.ExactFrom}}
	if changed.Old != nil {
		old := message.PolicyOf(*changed.Old)
		done.value.Old = &old
	}
	return done, nil
}

// follow applies a change in this process at once.
func (s *server) follow(ctx context.Context) {
	// If the store is away now, this process follows like the others.
	_ = s.Submitter.Policies.Reload(ctx)
}
