package integration_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
)

// scriptNames has the name of each script of the product, and of the queue's with
// "asynq " before it, by the SHA-1 that calls contain.
type scriptNames map[string]string

// nameScripts finds the scripts, and loads them into the store, so that every call
// needs only one command.
func nameScripts(t *testing.T, client redis.Cmdable) scriptNames {
	t.Helper()
	names := make(scriptNames)
	for _, name := range lua.NamesByHash() {
		text, err := lua.Text(name)
		require.NoError(t, err)
		names.add(t, client, name, text)
	}
	require.Len(t, names, len(lua.All()))
	for name, text := range queueScripts(t) {
		names.add(t, client, "asynq "+name, text)
	}
	return names
}

func (n scriptNames) add(t *testing.T, client redis.Cmdable, name, text string) {
	t.Helper()
	hash, err := client.ScriptLoad(t.Context(), text).Result()
	require.NoError(t, err)
	n[hash] = name
}

// queueScripts reads the queue's scripts from its source, where they are called
// enqueueCmd, dequeueCmd and so on.
func queueScripts(t *testing.T) map[string]string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/hibiken/asynq").Output()
	require.NoError(t, err)
	scripts := make(map[string]string)
	for _, file := range []string{"rdb.go", "inspect.go"} {
		path := filepath.Join(strings.TrimSpace(string(folder)), "internal", "rdb", file)
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(source, func(node ast.Node) bool {
			if variable, ok := node.(*ast.ValueSpec); ok && len(variable.Values) == 1 {
				if made, ok := variable.Values[0].(*ast.CallExpr); ok && len(made.Args) == 1 {
					if text, ok := made.Args[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
						script, err := strconv.Unquote(text.Value)
						require.NoError(t, err)
						scripts[strings.TrimSuffix(variable.Names[0].Name, "Cmd")] = script
					}
				}
			}
			return true
		})
	}
	require.Contains(t, scripts, "dequeue")
	return scripts
}

// of returns the name of a command: the name of a script, or else the command and the
// kind of its key, "zadd watch".
func (n scriptNames) of(prefix string, cmd redis.Cmder) string {
	args := cmd.Args()
	verb := cmd.Name()
	if len(args) < 2 {
		return verb
	}
	first := fmt.Sprint(args[1])
	switch verb {
	case "eval":
		hash := sha1.Sum([]byte(first)) //nolint:names // Redis identifies scripts by it
		first = hex.EncodeToString(hash[:])
		fallthrough
	case "evalsha":
		if name, known := n[first]; known {
			return name
		}
		return "script " + first
	case "hello", "client":
		return verb
	}
	return verb + " " + keyKind(prefix, first)
}

// keyKind returns what a key holds, without the name of its user or account.
func keyKind(prefix, key string) string {
	if rest, ours := strings.CutPrefix(key, prefix+":"); ours {
		if _, of, partitioned := strings.Cut(rest, "}:"); partitioned {
			rest = of
		}
		kind, _, _ := strings.Cut(rest, ":")
		switch kind {
		case "u":
			return "timeline"
		case "m":
			return "record"
		case "l":
			return "late mark"
		case "h":
			return "hold"
		case "n":
			return "notice"
		case "o":
			return "settings"
		}
		return kind
	}
	if rest, queue := strings.CutPrefix(key, "asynq:"); queue {
		if _, of, ofOne := strings.Cut(rest, "}:"); ofOne && strings.HasPrefix(rest, "{") {
			rest = of
		}
		kind, _, _ := strings.Cut(rest, ":")
		return "asynq:" + kind
	}
	return key
}
