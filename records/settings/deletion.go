package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// deletionLasts is the time limit of a deletion.
const deletionLasts = time.Minute

// PolicyInUseError is returned by Policies.Delete if settings of users name the policy. Nothing was
// changed.
type PolicyInUseError struct {
	Name  string
	Count int64    // users whose settings name it
	Users []string // at most 5 of them
}

// Error names the first users and says what to do.
func (e *PolicyInUseError) Error() string {
	users := strings.Join(e.Users, ", ")
	if more := e.Count - int64(len(e.Users)); more > 0 {
		users += fmt.Sprintf(" and %d more", more)
	}
	if e.Count == 1 {
		return fmt.Sprintf("policy %s is in use: 1 user has it, %s; give this user another policy first", e.Name, users)
	}
	return fmt.Sprintf("policy %s is in use: %d users have it, %s; give these users another policy first", e.Name, e.Count, users)
}

// Code returns fault.CodePolicyInUse.
func (e *PolicyInUseError) Code() fault.Code { return fault.CodePolicyInUse }

// Delete deletes a policy at a version, AnyVersion for any. Its versions are kept for 30 days, for
// Rollback. It takes 2 round trips and 1,024 short reads.
//
// No user has a deleted policy, whatever happens concurrently. Delete marks the policy, then reads
// the settings of all users, and deletes the policy only while its mark exists. To give a user the
// policy, a caller claims it in the user's partition, then checks the mark, and stores the settings
// only while the claim exists. Reading the settings removes the claims.
//
// The error is a *PolicyInUseError, a *fault.NoSuchError, a *VersionError, a *fault.InvalidError
// for the default policy, or a *fault.UnavailableError.
func (s *Policies) Delete(ctx context.Context, name string, expected int64) error {
	if name == policy.DefaultName {
		return fault.Wrong("policy", "the policy %s can't be deleted: it applies to every user without another one", name)
	}
	token := keyspace.NewToken()
	if err := s.mark(ctx, name, token, expected); err != nil {
		return err
	}
	inUse, err := s.use(ctx, name)
	if err == nil && inUse.Count == 0 {
		return s.deleteMarked(ctx, name, token)
	}
	// The mark also expires.
	_ = s.runMark(ctx, name, token, 0, AnyVersion)
	if err != nil {
		return err
	}
	return inUse
}

// mark marks a policy as being deleted.
func (s *Policies) mark(ctx context.Context, name, token string, expected int64) error {
	r := s.runMark(ctx, name, token, deletionLasts, expected)
	switch status, version := r.Int(0), r.Int(1); {
	case r.Err != nil:
		return r.Err
	case status == 0:
		return &fault.NoSuchError{What: "policy", Name: name}
	case status < 0:
		return &VersionError{Name: name, Expected: expected, Present: version}
	default:
		return nil
	}
}

// runMark calls the script that marks a policy, or removes the mark if lasts is 0.
func (s *Policies) runMark(ctx context.Context, name, token string, lasts time.Duration, expected int64) *script.ReplyReader {
	keys := []string{s.keys.Policies(), s.keys.PolicyDeletion(name)}
	return script.Call(ctx, s.client, lua.PolicyMark, "marking the policy", keys, []any{name, token, lasts.Milliseconds(), expected})
}

// deleteMarked deletes a policy that no user has.
func (s *Policies) deleteMarked(ctx context.Context, name, token string) error {
	const doing = "deleting the policy"
	by, err := json.Marshal(s.by)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	args := []any{name, token, by, MaxVersions, versionsAfterDeletion.Milliseconds()}
	deleted, err := script.Yes(script.Call(ctx, s.client, lua.PolicyDelete, doing, s.changeKeys(name), args))
	if err == nil && !deleted {
		return &fault.UnavailableError{
			Detail: fmt.Sprintf("policy %s was not deleted: somebody applied or deleted it meanwhile, or the store is too slow; try again", name),
		}
	}
	return err
}

// partitionsAtOnce is the number of partitions that use reads in a round trip.
const partitionsAtOnce = 256

// usersTold is how many users a PolicyInUseError names.
const usersTold = 5

// use returns the users whose settings name a policy. It removes all claims of the policy: changes
// that have not stored their settings claim it again.
func (s *Policies) use(ctx context.Context, name string) (*PolicyInUseError, error) {
	const doing = "looking for users of the policy"
	found := &PolicyInUseError{Name: name}
	from, until := policyMembers(name)
	for first := 0; first < keyspace.Partitions; first += partitionsAtOnce {
		var counts [partitionsAtOnce]*redis.IntCmd
		var users [partitionsAtOnce]*redis.StringSliceCmd
		// The transaction removes the claims before the reads, even if a slot is moving to another
		// node.
		err := store.Transaction(ctx, s.client, func(pipe redis.Pipeliner) error {
			for i := range counts {
				index := s.keys.UsersWithSettings(first + i)
				pipe.Del(ctx, s.keys.PolicyClaims(first+i, name))
				counts[i] = pipe.ZLexCount(ctx, index, from, until)
				users[i] = pipe.ZRangeByLex(ctx, index, &redis.ZRangeBy{Min: from, Max: until, Count: usersTold})
			}
			return nil
		})
		if err != nil {
			return nil, store.Explain(err, doing)
		}
		for i := range counts {
			found.Count += counts[i].Val()
			for _, member := range users[i].Val() {
				if len(found.Users) < usersTold {
					found.Users = append(found.Users, strings.TrimPrefix(member, policyMember+name+":"))
				}
			}
		}
	}
	return found, nil
}
