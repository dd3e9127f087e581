package keyspace_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// The fragment of each hash documents exactly the fields that its table spells.
func TestFieldsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "fields.go", nil, 0)
	require.NoError(t, err)
	spelled := make(map[string][]string) // by what the names begin with
	ast.Inspect(file, func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := constant.Values[0].(*ast.BasicLit)
		require.True(t, ok)
		letter, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		kind := regexp.MustCompile(`^[A-Z][a-z]+`).FindString(constant.Names[0].Name)
		spelled[kind] = append(spelled[kind], letter)
		return true
	})
	documented := regexp.MustCompile(`(?m)^--   ([A-Za-z])  |(?:^|\s{2,})([a-z])  [a-z]`)
	for kind, fragment := range map[string]string{"Record": "record", "Notice": "outbox", "Event": "event"} {
		text, err := os.ReadFile("../../lua/fragments/" + fragment + ".lua")
		require.NoError(t, err)
		header, _, _ := strings.Cut(string(text), "\nlocal ")
		var letters []string
		for _, match := range documented.FindAllStringSubmatch(header, -1) {
			letters = append(letters, match[1]+match[2])
		}
		slices.Sort(letters)
		slices.Sort(spelled[kind])
		require.Equal(t, letters, spelled[kind], fragment)
	}
}

// A content is joined from its fields as it was. No field of a content of up to 512 bytes
// is longer than Redis' compact encoding allows.
func TestContentsAreSplitAndJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 700).Draw(t, "content")
		pairs := keyspace.AppendContent(nil, content)
		fields := make(map[string]string)
		for k := 0; k < len(pairs); k += 2 {
			name, _ := pairs[k].(string)
			value, _ := pairs[k+1].([]byte)
			require.Contains(t, keyspace.ContentFields(), name)
			if len(content) <= 512 {
				require.LessOrEqual(t, len(value), 64)
			} else {
				require.Len(t, pairs, 2)
			}
			fields[name] = string(value)
		}
		require.Equal(t, content, keyspace.JoinContent(func(field string) (string, bool) {
			value, ok := fields[field]
			return value, ok
		}))
	})
	metadata := []byte(strings.Repeat("m", 130))
	require.Equal(t, []any{"M", metadata[:64], "N", metadata[64:128], "O", metadata[128:]}, keyspace.AppendMetadata(nil, metadata))
	require.Equal(t, metadata, keyspace.JoinMetadata(func(field string) (string, bool) {
		value, ok := map[string]string{"M": string(metadata[:64]), "N": string(metadata[64:128]), "O": "mm"}[field]
		return value, ok
	}))
	require.Empty(t, keyspace.AppendContent(nil, nil))
	require.Equal(t, []any{"before", keyspace.RecordContent, []byte("x")}, keyspace.AppendContent([]any{"before"}, []byte("x")))
	require.Nil(t, keyspace.JoinContent(func(string) (string, bool) { return "", false }))
}
