package story

import (
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// RulesBy returns rules by policies, which have to be valid: for a test in which
// they are given. The first is for users whose settings name none.
func RulesBy(t require.TestingT, policies ...policy.Policy) *sendlimit.Rules {
	rules, err := sendlimit.NewRules(policies...)
	require.NoError(t, err)
	return rules
}

// RecordsIn returns the records under a prefix, which has to be valid.
func RecordsIn(t require.TestingT, client redis.Cmdable, prefix string) *messages.Records {
	records, err := messages.NewRecords(client, prefix)
	require.NoError(t, err)
	return records
}
