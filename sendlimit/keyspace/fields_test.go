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
