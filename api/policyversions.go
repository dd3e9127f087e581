package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (s *server) deletePolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "deletePolicy", Method: http.MethodDelete, Path: policyPattern, Tags: []string{"policies"},
			Summary: "Delete a policy",
			Description: "Refused for the default policy, and with the code policy_in_use while settings of users name the policy: listUsers with " +
				"policy= finds them. Its versions are kept for 30 days, and rollbackPolicy brings it back.",
			Parameters: append([]*huma.Param{policyParameter()}, conditionParameters("the policy is")...),
			Responses: responses[message.PolicyDeletion](s, "Deleted.",
				http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed),
		},
		scope: accounts.ScopeAdmin, do: s.deletePolicy,
	}
}

func (s *server) deletePolicy(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("policy")
	expected, err := s.conditionOn(r, name)
	if err != nil {
		return web.Answer{}, err
	}
	if own := s.submitter.Policies.Name(); name == own {
		return web.Answer{}, fault.Wrong("policy", "the policy %s can't be deleted: it applies to every user without another one", name)
	}
	if err := s.policiesBy(r).Delete(r.Context(), name, expected); err != nil {
		return web.Answer{}, versionProblem(err)
	}
	s.follow(r)
	return web.Done(message.PolicyDeletion{Outcome: message.PolicyDeleted, Policy: name}), nil
}

func (s *server) policyVersionsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listPolicyVersions", Method: http.MethodGet, Path: policyPattern + "/versions", Tags: []string{"policies"},
			Summary:     "List the versions of a policy",
			Description: "With who stored each, and when. At most 100 are kept; those of a deleted policy, for 30 days.",
			Parameters:  []*huma.Param{policyParameter()},
			Responses:   responses[message.PolicyVersions](s, "The versions, the newest first.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.policyVersions,
	}
}

func (s *server) policyVersions(r *http.Request, _ web.Query) (web.Answer, error) {
	versions, err := s.policies.Versions(r.Context(), r.PathValue("policy"))
	if err != nil {
		return web.Answer{}, err
	}
	list := message.PolicyVersions{Versions: make([]message.PolicyVersion, len(versions))}
	for i, v := range versions {
		list.Versions[i] = message.PolicyVersionOf(v.Version, v.At, v.By, v.Deleted, v.Policy)
	}
	return web.Done(list), nil
}

func (s *server) rollbackPolicyRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "rollbackPolicy", Method: http.MethodPost, Path: policyPattern + "/rollback", Tags: []string{"policies"},
			Summary: "Store an earlier version of a policy again",
			Description: "Stores it under a new version, as applyPolicy would. A deleted policy comes back. If the policy is like that version " +
				"already, nothing changes.",
			Parameters:  append([]*huma.Param{policyParameter()}, conditionParameters("the policy is")...),
			RequestBody: jsonBody[message.PolicyRollback](s),
			Responses: versioned(responses[message.PolicyChange](s, "What was stored, and what is now.",
				bodyProblems(http.StatusNotFound, http.StatusPreconditionFailed)...)),
		},
		scope: accounts.ScopeAdmin, do: s.rollbackPolicy,
	}
}

func (s *server) rollbackPolicy(r *http.Request, _ web.Query) (web.Answer, error) {
	to, err := web.ReadBody(s.bodies(), r, func(to message.PolicyRollback) error {
		if to.Version < 1 {
			return fault.Wrong("version", "version is missing or less than 1: name the version to store again")
		}
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	name := r.PathValue("policy")
	expected, err := s.conditionOn(r, name)
	if err != nil {
		return web.Answer{}, err
	}
	change, err := s.policiesBy(r).Rollback(r.Context(), name, to.Version, expected)
	return s.policyChange(r, change, err)
}

// policiesBy returns the policies, with the caller as who makes the changes.
func (s *server) policiesBy(r *http.Request) *settings.Policies {
	switch who := callerOf(r.Context()); {
	case who.by != "":
		return s.policies.By(who.by)
	case who.account() != "":
		return s.policies.By("account " + who.account())
	}
	return s.policies.By("API without a key")
}
