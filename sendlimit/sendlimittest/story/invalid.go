package story

import (
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Invalid requires a *fault.InvalidError about a field and its value. It returns
// what the error says is allowed.
func Invalid(t require.TestingT, err error, field, value string) string {
	var problem *fault.InvalidError
	require.ErrorAs(t, err, &problem)
	require.Equal(t, fault.CodeInvalidField, problem.Code())
	require.Equal(t, field, problem.Field)
	require.Equal(t, value, problem.Value)
	return problem.Want
}
