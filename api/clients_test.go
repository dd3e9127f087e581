package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/clients/generate"
)

// The methods of the generated clients are those of the present document. A
// long test of package integration compares the rest of their generated files.
func TestClientsHaveTheOperationsOfTheDocument(t *testing.T) {
	t.Parallel()
	files, err := generate.Files(newRig(t).document())
	require.NoError(t, err)
	outdated, err := generate.Outdated("../clients", files)
	require.NoError(t, err)
	require.Empty(t, outdated, "make clients writes these files of the folder clients from the OpenAPI document")
}
