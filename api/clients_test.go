package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/clients/generate"
)

// The methods of the clients for other languages are those of the present document. A
// long test of package integration compares the rest of their generated files.
func TestClientsHaveTheOperationsOfTheDocument(t *testing.T) {
	t.Parallel()
	files, err := generate.Files(newRig(t).get("/openapi.json").body)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for file, text := range files {
		present, err := os.ReadFile(filepath.Join("../clients", file))
		require.NoError(t, err)
		require.Equal(t, string(present), string(text), "%s is not what the OpenAPI document gives: make clients writes it", file)
	}
}
