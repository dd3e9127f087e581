package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

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

func (s *server) listPoliciesRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listPolicies", Method: http.MethodGet, Path: policiesPath, Tags: []string{"policies"},
			Summary:     "List the policies",
			Description: "By name.",
			Parameters:  pageParameters("Policies a page."),
			Responses:   responses[message.Policies](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listPolicies,
	}
}

func (s *server) listPolicies(r *http.Request, q web.Query) (web.Answer, error) {
	var unreadable []string
	policies, next, err := pageByName(s, r, q, func(ctx context.Context, after string, limit int) (all []policy.Policy, next string, err error) {
		all, unreadable, next, err = s.policies.Page(ctx, after, limit)
		return all, next, err
	}, message.PolicyOf)
	return web.Done(message.Policies{Policies: policies, Unreadable: unreadable, NextCursor: next}), err
}

func (s *server) showPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getPolicy", Method: http.MethodGet, Path: policyPattern, Tags: []string{"policies"},
			Summary:     "Get a policy",
			Description: "In the form that applyPolicy accepts. With If-None-Match and the ETag that you have, the answer is 304 until the policy changes.",
			Parameters:  []*huma.Param{policyParameter()},
			Responses:   knowable(responses[message.Policy](s, "The policy.", http.StatusNotFound)),
		},
		scope: accounts.ScopeAdmin, do: s.showPolicy,
	}
}

func (s *server) showPolicy(r *http.Request, _ web.Query) (web.Answer, error) {
	policy, err := s.storedPolicy(r)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Answer{Status: http.StatusOK, Header: policyTag(policy), Body: message.PolicyOf(policy)}, nil
}

// storedPolicy returns the stored policy that the address names.
func (s *server) storedPolicy(r *http.Request) (policy.Policy, error) {
	name := r.PathValue("policy")
	p, ok, err := s.policies.Load(r.Context(), name)
	if err != nil {
		return policy.Policy{}, err
	}
	if !ok {
		return policy.Policy{}, &fault.NoSuchError{What: "policy", Name: name}
	}
	return p, nil
}

func policyTag(p policy.Policy) http.Header { return web.ETag(strconv.FormatInt(p.Version, 10)) }

func (s *server) applyPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "applyPolicy", Method: http.MethodPut, Path: policyPattern, Tags: []string{"policies"},
			Summary: "Create or replace a policy",
			Description: "Takes effect within two seconds in every program. If anything in the policy is wrong, nothing is stored. A field that is " +
				"left out gets its default, not its old value. Scheduled messages keep their places and are sent as promised: previewPolicy " +
				"lists those that would not fit, and refitPolicy moves or cancels them. Applying the same policy again changes nothing, whatever " +
				"version If-Match names.",
			Parameters:  append([]*huma.Param{policyParameter()}, conditionParameters("the policy is")...),
			RequestBody: jsonBody[policy.Document](s),
			Responses:   versioned(responses[message.PolicyChange](s, "What was stored, and what is now.", bodyProblems(http.StatusPreconditionFailed)...)),
		},
		scope: accounts.ScopeAdmin, do: s.applyPolicy,
	}
}

func (s *server) applyPolicy(r *http.Request, _ web.Query) (web.Answer, error) {
	policy, err := s.readPolicy(r, func(d policy.Document) error { return s.contacts.Check("alert_to", d.AlertTo) })
	if err != nil {
		return web.Answer{}, err
	}
	expected, err := s.conditionOn(r, policy.Name)
	if err != nil {
		return web.Answer{}, err
	}
	change, err := s.policiesBy(r).Replace(r.Context(), policy, expected)
	return s.policyChange(r, change, err)
}

// policyChange answers a change of a policy, or its error.
func (s *server) policyChange(r *http.Request, change settings.PolicyChange, err error) (web.Answer, error) {
	if err != nil {
		return web.Answer{}, versionProblem(err)
	}
	if change.Changed {
		s.follow(r)
	}
	done := message.PolicyChange{New: message.PolicyOf(change.New), Changed: change.Changed, ExactFrom: message.Time{Time: change.ExactFrom}}
	if change.Old != nil {
		old := message.PolicyOf(*change.Old)
		done.Old = &old
	}
	return web.Answer{Status: http.StatusOK, Header: policyTag(change.New), Body: done}, nil
}

// follow has this process follow a change at once.
func (s *server) follow(r *http.Request) {
	// If the store is away by now, this process follows like the others.
	_ = s.submitter.Policies.Reload(r.Context())
}

// versionProblem returns the answer to a *settings.VersionError, and other errors as they
// are.
func versionProblem(err error) error {
	if outdated, ok := errors.AsType[*settings.VersionError](err); ok {
		return web.OtherVersion(strconv.FormatInt(outdated.Present, 10), outdated.Error())
	}
	return err
}

// conditionOn returns the version of a policy that the headers of a request want to find.
func (s *server) conditionOn(r *http.Request, name string) (int64, error) {
	condition, err := web.PreconditionOf(r.Header)
	if err != nil {
		return 0, err
	}
	return s.expectedVersion(r.Context(), name, condition)
}

// expectedVersion returns the version of a policy that a request wants to find,
// settings.AnyVersion for any. Of several it is the present one. If none is, it is any of
// them: the store finds that it is another one.
func (s *server) expectedVersion(ctx context.Context, name string, p web.Precondition) (int64, error) {
	expected := settings.AnyVersion
	if p.Existing() {
		if present, _, err := s.policies.Load(ctx, name); err != nil || present.Version > 0 {
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
	present, _, err := s.policies.Load(ctx, name) // version 0 if there is none
	if err != nil {
		return 0, err
	}
	if p.Accepts(strconv.FormatInt(present.Version, 10)) {
		expected = present.Version
	}
	return expected, nil
}

// readPolicy reads the policy in a request. It has the name that the address says. Its
// version is ignored: it is only what the caller has read. check says what else is wrong.
func (s *server) readPolicy(r *http.Request, check func(policy.Document) error) (read policy.Policy, err error) {
	name := r.PathValue("policy")
	_, err = web.ReadBody(s.bodies(), r, func(d policy.Document) error {
		var wrong fault.InvalidErrors
		if d.Name != "" && d.Name != name {
			wrong.Add(fault.Wrong("name", "the body names the policy %q, and the address %q: leave the name out of the body",
				fault.Clip(d.Name), fault.Clip(name)))
		}
		d.Name, d.Version = name, 0
		var err error
		read, err = d.Policy()
		wrong.Add(err)
		wrong.Add(check(d))
		return wrong.Err()
	})
	return read, err
}
