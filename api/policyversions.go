package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (s *server) policyVersionRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("deletePolicy", http.MethodDelete, policyPattern, "policies",
				"Delete a policy",
				"Refused for the default policy, and with the code policy_in_use while settings of users name the policy: listUsers with "+
					"policy= finds them. Its versions are kept for 30 days, and rollbackPolicy restores it."),
			scope: accounts.ScopeAdmin, says: "Deleted.", refuses: []int{http.StatusNotFound, http.StatusConflict},
		}, s.deletePolicy),
		operation(s, route{
			Operation: named("listPolicyVersions", http.MethodGet, policyPattern+"/versions", "policies",
				"List the versions of a policy",
				"With who stored each, and when. At most 100 are kept; versions of a deleted policy for 30 days."),
			scope: accounts.ScopeAdmin, says: "The versions, newest first.", refuses: []int{http.StatusNotFound},
		}, s.policyVersions),
		operation(s, route{
			Operation: named("rollbackPolicy", http.MethodPost, policyPattern+"/rollback", "policies",
				"Store an earlier version of a policy again",
				"Stores it under a new version, as applyPolicy does. A deleted policy is restored. If the policy already equals "+
					"that version, nothing changes."),
			scope: accounts.ScopeAdmin, says: "The policy before and after the change.", refuses: []int{http.StatusNotFound},
		}, s.rollbackPolicy),
	}
}

// policiesBy returns the policies, with the caller as the author of changes.
func (s *server) policiesBy(ctx context.Context) *settings.Policies {
	return s.Policies.By(nameOf(callerOf(ctx)))
}

// nameOf returns who made a change, for operators.
func nameOf(who caller) string {
	switch {
	case who.by != "":
		return who.by
	case who.account() != "":
		return "account " + who.account()
	}
	return "API without a key"
}

type policyDeletion struct {
	ofPolicy

	Condition condition
}

func (s *server) deletePolicy(ctx context.Context, in policyDeletion) (message.PolicyDeletion, error) {
	done := message.PolicyDeletion{Outcome: message.PolicyDeleted, Policy: in.Policy}
	expected, err := s.expectedVersion(ctx, in.Policy, in.Condition.Precondition)
	if err != nil {
		return done, err
	}
	if in.Policy == s.Submitter.Policies.Name() {
		return done, fault.Wrong("policy", "the policy %s can't be deleted: it applies to every user without another one", in.Policy)
	}
	if err := s.policiesBy(ctx).Delete(ctx, in.Policy, expected); err != nil {
		return done, versionProblem(err)
	}
	s.follow(ctx)
	return done, nil
}

func (s *server) policyVersions(ctx context.Context, in ofPolicy) (message.PolicyVersions, error) {
	versions, err := s.Policies.Versions(ctx, in.Policy)
	list := message.PolicyVersions{Versions: make([]message.PolicyVersion, len(versions))}
	for i, v := range versions {
		list.Versions[i] = message.PolicyVersionOf(v.Version, v.At, v.By, v.Deleted, v.Policy)
	}
	return list, err
}

type policyRollback struct {
	ofPolicy

	Condition condition
	Body      object[message.PolicyRollback]
}

func (in *policyRollback) check(context.Context, *server) error {
	if in.Body.value.Version < 1 {
		return fault.Wrong("version", "version is missing or less than 1: name the version to store again")
	}
	return nil
}

func (s *server) rollbackPolicy(ctx context.Context, in policyRollback) (tagged[message.PolicyChange], error) {
	return s.changePolicy(ctx, in.Policy, in.Condition, func(by *settings.Policies, expected int64) (settings.PolicyChange, error) {
		return by.Rollback(ctx, in.Policy, in.Body.value.Version, expected)
	})
}
