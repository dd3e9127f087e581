// Package refit finds reservations that do not fit a policy: one that is applied, or
// one that is only considered.
//
//	Refit  finds them, partition by partition, and their next free times
//	Turn   lets one program at a time work through what Refit finds
//
// The package changes no reservation: whoever uses it moves or cancels them.
package refit
