package settings

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The beginnings of the members of the index, see lua/fragments/index.lua.
const (
	anyMember     = "a:"
	blockedMember = "b:"
	pendingMember = "t:"
	policyMember  = "p:"
)

// policyMembers returns the bounds of the members of the users of a policy, for ZRANGEBYLEX.
func policyMembers(name string) (from, until string) { return membersAfter(policyMember+name+":", "") }

// membersAfter returns the bounds of the members with a beginning, after a user; "" for all.
func membersAfter(start, user string) (from, until string) {
	return "(" + start + user, "(" + strings.TrimSuffix(start, ":") + ";" // the byte after ":"
}

// IndexedUser returns the user of a member of the index, "" for no member.
func IndexedUser(member string) string {
	kind, user, _ := strings.Cut(member, ":")
	if kind+":" == policyMember {
		_, user, _ = strings.Cut(user, ":")
	}
	return user
}

// MaxListedUsers is the maximum length of a page.
const MaxListedUsers = 1000

// ListRequest selects users with settings.
type ListRequest struct {
	Blocked bool   // only blocked ones
	Pending bool   // only those whose scheduled messages are still to be moved or dropped
	Policy  string // only those whose settings name this policy; "" for any
	After   string // the last user of the previous page; "" for the first page
	Limit   int    // 1 to MaxListedUsers; 0 means MaxListedUsers
}

// ListedUser is a user with settings.
type ListedUser struct {
	User     string
	Settings policy.UserSettings
	// Unreadable is set if only a newer program can read the settings. Then they are empty.
	Unreadable bool
}

// List returns a page of the users with settings, ordered by the parts of the store and by name
// within one: not alphabetically, but always the same. next is the last user of the page, "" at the
// end; the next page may be empty. A user whose settings change meanwhile may be in the list or
// not. It reads only the index of the settings, and the returned settings. The error is a
// *fault.InvalidError or a *fault.UnavailableError.
func (s *Users) List(ctx context.Context, r ListRequest) (page []ListedUser, next string, err error) {
	if err := r.check(); err != nil {
		return nil, "", err
	}
	if r.Limit == 0 {
		r.Limit = MaxListedUsers
	}
	users, next, err := s.users(ctx, r)
	if err != nil {
		return nil, "", err
	}
	values := make([]*redis.MapStringStringCmd, len(users))
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, user := range users {
			values[i] = pipe.HGetAll(ctx, s.keys.Settings(user))
		}
		return nil
	})
	if err != nil {
		return nil, "", store.Explain(err, "reading the settings of users")
	}
	for i, user := range users {
		listed := ListedUser{User: user}
		if len(values[i].Val()) == 0 {
			continue // removed meanwhile
		}
		if listed.Settings, err = policy.ReadSettings(values[i].Val()); err != nil {
			listed.Settings, listed.Unreadable = policy.UserSettings{}, true
		} else if r.Blocked && !listed.Settings.Blocked || r.Pending && !listed.Settings.Follows() || r.Policy != "" && listed.Settings.Policy != r.Policy {
			continue
		}
		page = append(page, listed)
	}
	return page, next, nil
}

func (r ListRequest) check() error {
	switch {
	case r.Policy != "" && !keyspace.ValidName(r.Policy):
		return &fault.InvalidError{Field: "policy", Value: r.Policy, Want: keyspace.WantName}
	case r.After != "" && !keyspace.ValidUser(r.After):
		return keyspace.CheckUser(r.After)
	case r.Limit < 0 || r.Limit > MaxListedUsers:
		return fault.Wrong("limit", "a page has 1 to %d users", MaxListedUsers)
	default:
		return nil
	}
}

// users returns the names of a page from the index.
func (s *Users) users(ctx context.Context, r ListRequest) (users []string, next string, err error) {
	start := anyMember
	switch {
	case r.Policy != "":
		start = policyMember + r.Policy + ":"
	case r.Pending:
		start = pendingMember
	case r.Blocked:
		start = blockedMember
	}
	partition := 0
	if r.After != "" {
		partition = keyspace.Partition(r.After)
	}
	// One partition may fill the page, or hundreds may be empty.
	for together := 1; partition < keyspace.Partitions; together = min(2*together, partitionsAtOnce) {
		together = min(together, keyspace.Partitions-partition)
		lists := make([]*redis.StringSliceCmd, together)
		_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range lists {
				after := ""
				if r.After != "" && partition+i == keyspace.Partition(r.After) {
					after = r.After
				}
				from, until := membersAfter(start, after)
				span := &redis.ZRangeBy{Min: from, Max: until, Count: int64(r.Limit) + 1}
				lists[i] = pipe.ZRangeByLex(ctx, s.keys.UsersWithSettings(partition+i), span)
			}
			return nil
		})
		if err != nil {
			return nil, "", store.Explain(err, "listing users")
		}
		for _, list := range lists {
			for _, member := range list.Val() {
				if len(users) == r.Limit {
					return users, users[r.Limit-1], nil
				}
				users = append(users, strings.TrimPrefix(member, start))
			}
		}
		partition += together
	}
	return users, "", nil
}
