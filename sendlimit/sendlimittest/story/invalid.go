package story

import (
	"cmp"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Invalid requires a *fault.InvalidError about a field and its value. It returns
// its sentence, or else what it says is allowed.
func Invalid(t require.TestingT, err error, field, value string) string {
	var problem *fault.InvalidError
	require.ErrorAs(t, err, &problem)
	require.Equal(t, fault.CodeInvalidField, problem.Code())
	require.Equal(t, field, problem.Field)
	require.Equal(t, value, problem.Value)
	return cmp.Or(problem.Says, problem.Want)
}
