package message

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Policy is a policy in an answer: a policy.Document with its defaults spelled out.
type Policy policy.Document

// PolicyOf spells a policy.
func PolicyOf(p policy.Policy) Policy { return Policy(p.Document().Spelled()) }

// Policies is a page of the policies, or all of them.
type Policies struct {
	Policies   []Policy `json:"policies" doc:"By name."`
	Unreadable []string `json:"unreadable,omitempty" doc:"Names of policies of this page that only a newer program can read."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// PolicyChange is the answer to a policy that was applied.
type PolicyChange struct {
	Old       *Policy `json:"old,omitempty" doc:"What was stored before; absent if there was nothing."`
	New       Policy  `json:"new" doc:"What is stored now."`
	Changed   bool    `json:"changed" doc:"Whether the policy changed. Then its version changed too."`
	ExactFrom Time    `json:"exact_from,omitzero" doc:"From which send time on the rules count everything. It is there if a window is longer than that of every policy before: sends that nobody was to look back at are forgotten."`
}

// PolicyVersions are the versions of a policy that the store still has.
type PolicyVersions struct {
	Versions []PolicyVersion `json:"versions" doc:"The newest first, at most 100."`
}

// PolicyVersion is a version of a policy: who stored it, and when.
type PolicyVersion struct {
	Version int64   `json:"version" doc:"The version, for rollbackPolicy."`
	At      Time    `json:"at" doc:"When it was stored."`
	By      string  `json:"by,omitempty" doc:"Who stored it: \"account\" and a name, or the user of a command; absent if that is unknown."`
	Deleted bool    `json:"deleted,omitempty" doc:"The policy was deleted then."`
	Policy  *Policy `json:"policy,omitempty" doc:"What was stored; absent of a deletion, and if only a newer program can read it."`
}

// PolicyVersionOf spells a version. Nil is a deletion, or a policy that can't be read.
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
	Version int64 `json:"version" doc:"The version to store again, of those that listPolicyVersions returns."`
}

// PolicyDeleted is the Outcome of a PolicyDeletion.
const PolicyDeleted = "deleted"

// PolicyDeletion is the answer to a policy that was deleted.
type PolicyDeletion struct {
	Outcome string `json:"outcome" doc:"deleted"`
	Policy  string `json:"policy" doc:"The name of the policy."`
}
