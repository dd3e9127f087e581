package story

import (
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// RulesBy returns rules by policies, which must be valid. The first policy is for users
// whose settings name none.
func RulesBy(t require.TestingT, policies ...policy.Policy) *sendlimit.Rules {
	rules, err := sendlimit.NewRules(policies...)
	require.NoError(t, err)
	return rules
}

// RecordsIn returns the records under a prefix, which must be valid.
func RecordsIn(t require.TestingT, client redis.Cmdable, prefix string) *messages.Records {
	records := messages.NewRecords(client, keyspace.KeysUnder(prefix))
	return records
}
