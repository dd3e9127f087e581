package sendlimit

import (
	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Rules judges messages: it has the policies, and caches the settings of users. Everything in a
// process that judges shares one, so that its Replace changes the policies for all.
type Rules = judge.Rules

// NewRules returns rules by these policies. The first applies to every user whose settings name no
// policy; settings may name any of them. Without an argument it uses the default policy. The error
// is an *InvalidError.
func NewRules(policies ...policy.Policy) (*Rules, error) { return judge.NewRules(policies...) }

// MaxRulesAge is how long rules with a Rules.UseUntil time are usually used after they were read.
const MaxRulesAge = judge.MaxAge

// ErrOtherZone is in the chain of the *UnavailableError for a user whose time zone is not that of the
// request. Nothing was done; Rules.Zone has the present zone.
var ErrOtherZone = judge.ErrOtherZone

// ErrOtherHours is in the chain of the *UnavailableError for a user whose best hours have changed since
// a time was drawn by them, see Timeline.InWindow. Nothing was done.
var ErrOtherHours = judge.ErrOtherHours

// ErrUnknownPolicy is in the chain of the *UnavailableError for a user whose settings name a policy
// that Rules does not have.
var ErrUnknownPolicy = judge.ErrUnknownPolicy
