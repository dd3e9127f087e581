package message

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Policy is a policy in an answer: a policy.Document with all defaults.
type Policy policy.Document

// PolicyOf converts a policy.
func PolicyOf(p policy.Policy) Policy { return Policy(p.Document().Spelled()) }

// Policies is a page of policies.
type Policies struct {
	Policies   []Policy `json:"policies" doc:"By name."`
	Unreadable []string `json:"unreadable,omitempty" doc:"Names of policies of this page that only a newer program can read."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// PolicyChange is the answer to a request to apply a policy.
type PolicyChange struct {
	Old       *Policy `json:"old,omitempty" doc:"The policy before; absent if there was none."`
	New       Policy  `json:"new" doc:"The policy after the change."`
	Changed   bool    `json:"changed" doc:"Whether the policy changed. Then its version changed too."`
	ExactFrom Time    `json:"exact_from,omitzero" doc:"The send time from which on the rules count everything. It is set if a window is longer than those of all policies before, because older sends are forgotten."`
}

// PolicyVersions are the stored versions of a policy.
type PolicyVersions struct {
	Versions []PolicyVersion `json:"versions" doc:"The newest first, at most 100."`
}

// PolicyVersion is a version of a policy.
type PolicyVersion struct {
	Version int64   `json:"version" doc:"The version, for rollbackPolicy."`
	At      Time    `json:"at" doc:"When it was stored."`
	By      string  `json:"by,omitempty" doc:"Who stored it: \"account\" and a name, or the name of who sent no key; absent if that is unknown."`
	Deleted bool    `json:"deleted,omitempty" doc:"The policy was deleted with this version."`
	Policy  *Policy `json:"policy,omitempty" doc:"The policy; absent for a deletion, and if only a newer program can read it."`
}

// PolicyVersionOf converts a version. p is nil for a deletion, or a policy that can't be read.
func PolicyVersionOf(version int64, at time.Time, by string, deleted bool, p *policy.Policy) PolicyVersion {
	spelled := PolicyVersion{Version: version, At: Time{Time: at}, By: by, Deleted: deleted}
	if p != nil {
		was := PolicyOf(*p)
		spelled.Policy = &was
	}
	return spelled
}

// PolicyRollback is the request to store an earlier version of a policy again.
type PolicyRollback struct {
	Version int64 `json:"version" doc:"The version to store again, one of those that listPolicyVersions returns."`
}

// PolicyDeleted is the Outcome of a PolicyDeletion.
const PolicyDeleted = "deleted"

// PolicyDeletion is the answer to a request to delete a policy.
type PolicyDeletion struct {
	Outcome string `json:"outcome" doc:"deleted"`
	Policy  string `json:"policy" doc:"The name of the policy."`
}
