package message

import "github.com/sendlimit/sendlimiter/sendlimit/policy"

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
	Old     *Policy `json:"old,omitempty" doc:"What was stored before; absent if there was nothing."`
	New     Policy  `json:"new" doc:"What is stored now."`
	Changed bool    `json:"changed" doc:"Whether the policy changed. Then its version changed too."`
}
