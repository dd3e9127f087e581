package lua_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// script is a file of this folder, with its header.
type script struct {
	name   string
	header string
	code   string // of the joined text, without comments
}

func scripts(t *testing.T) []script {
	t.Helper()
	files, err := filepath.Glob("*/*.lua")
	require.NoError(t, err)
	var all []script
	for _, file := range files {
		name := filepath.ToSlash(strings.TrimSuffix(file, ".lua"))
		if isFragment(name) {
			continue
		}
		text, err := lua.Text(name)
		require.NoError(t, err)
		header, _, found := strings.Cut(text, "\n\n")
		require.True(t, found, file)
		all = append(all, script{name, header, uncommented(text)})
	}
	require.NotEmpty(t, all)
	return all
}

// isFragment reports whether a file is a part of scripts, and no script.
func isFragment(name string) bool {
	return strings.HasPrefix(name, "fragments/") || strings.HasPrefix(name, "judge/")
}

func uncommented(text string) string {
	return regexp.MustCompile(`--[^\n]*`).ReplaceAllString(text, "")
}

// parameter is KEYS[n] or ARGV[n] as a header documents it.
type parameter struct {
	number int
	open   bool // and all that follow: "ARGV[15..]"
	kind   string
	text   string
}

var parameters = regexp.MustCompile(`(?m)^-- (KEYS|ARGV)\[(\d+)(\.\.)?(\d*)\] +(.+)$`)

func (s script) parameters(kind string) []parameter {
	var found []parameter
	for _, match := range parameters.FindAllStringSubmatch(s.header, -1) {
		if match[1] == kind {
			first, _ := strconv.Atoi(match[2])
			last := first
			if match[4] != "" { // "ARGV[1..9]": several at once
				last, _ = strconv.Atoi(match[4])
			}
			for n := first; n <= last; n++ {
				found = append(found, parameter{n, match[3] != "" && match[4] == "", kind, match[5]})
			}
		}
	}
	return found
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, s := range scripts(t) {
		require.Regexp(t, `^-- `+s.name+`\.lua: [a-z].*`, s.header)
		require.Regexp(t, `(?m)^-- Returns  \S`, s.header, s.name)
		require.Regexp(t, `(?m)^-- Cost     \S`, s.header, s.name)
		for _, kind := range []string{"KEYS", "ARGV"} {
			documented := s.parameters(kind)
			require.NotEmpty(t, documented, s.name)
			for i, p := range documented {
				require.Equal(t, i+1, p.number, "%s: %s in order", s.name, kind)
			}
			used := s.used(kind)
			for _, p := range documented {
				require.Contains(t, used, p.number, "%s: %s[%d] is documented and not used", s.name, kind, p.number)
			}
			last := documented[len(documented)-1]
			if !last.open {
				require.LessOrEqual(t, slices.Max(used), last.number, "%s: %s is used and not documented", s.name, kind)
			}
		}
	}
}

// used lists the numbers of the parameters that the code reads.
func (s script) used(kind string) []int {
	var numbers []int
	for _, match := range regexp.MustCompile(kind+`\[(\d+)\]|unpack\(`+kind+`, (\d+)\)`).FindAllStringSubmatch(s.code, -1) {
		n, _ := strconv.Atoi(match[1] + match[2])
		numbers = append(numbers, n)
	}
	return numbers
}

var (
	optional = regexp.MustCompile(`; optional$|^optional|with KEYS\[\d\]`)
	bound    = regexp.MustCompile(`^with KEYS\[\d\]`)
)

// counts reports whether a header allows these numbers of keys and arguments: all
// that are not bound to another, and those with them.
func (s script) counts(keys, args int) bool {
	least, most, open := 0, 0, false
	for _, p := range s.parameters("KEYS") {
		most++
		open = p.open
		if !optional.MatchString(p.text) {
			least++
		}
	}
	if keys != least && keys != most && (!open || keys < most) {
		return false
	}
	allowed := 0
	for _, p := range s.parameters("ARGV") {
		switch {
		case bound.MatchString(p.text) && keys < most:
		case p.open && open: // one for each of the keys that are any number
			return args == allowed+1+keys-most
		case p.open && strings.HasPrefix(p.text, "for each hold its attempt"): // pairs, at least one
			return args >= allowed+2 && (args-allowed)%2 == 0
		case p.open && (strings.HasPrefix(p.text, "ids of the devices") || p.text == "accounts of the counts"): // at least one
			return args >= allowed+1
		case p.open && strings.HasPrefix(p.text, "for each device its id"): // four each, at least one
			return args >= allowed+4 && (args-allowed)%4 == 0
		case p.open && strings.HasPrefix(p.text, "tokens of the claims"): // or none
			return args >= allowed
		case p.open && strings.HasPrefix(p.text, "for each event its id"): // three each, at least one
			return args >= allowed+3 && (args-allowed)%3 == 0
		case p.open && strings.HasPrefix(p.text, "the edit, "): // its four first ones, and pairs
			return args >= allowed+4 && (args-allowed)%2 == 0
		case p.open && strings.Contains(p.text, "an edit that is made together with the move"): // or none
			return args == allowed || args >= allowed+4 && (args-allowed)%2 == 0
		case p.open && strings.Contains(p.text, "further fields"): // pairs
			return args >= allowed && (args-allowed)%2 == 0
		case p.open: // pairs, of which three come first
			return args >= allowed+6 && (args-allowed)%2 == 0
		case strings.HasPrefix(p.text, "of a retry: "), strings.HasPrefix(p.text, "of an alert: "):
			if args == allowed {
				return true
			}
			return args == len(s.parameters("ARGV"))
		default:
			allowed++
		}
	}
	return args == allowed
}

// A missing argument is nil in Lua, and silently so.
func TestScriptsCountTheirArguments(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server, client := redistest.Embedded(t)
	for _, s := range scripts(t) {
		if s.name == "place/reserve_many" { // see TestReserveManyCountsItsArguments
			continue
		}
		text, err := lua.Text(s.name)
		require.NoError(t, err)
		right := 0
		var allowed [10][33]bool
		for keys := range allowed {
			for args := range allowed[keys] {
				allowed[keys][args] = s.counts(keys, args)
			}
		}
		for keys := range 9 {
			for args := range 32 {
				near := allowed[keys][args] || allowed[keys+1][args] || allowed[keys][args+1] ||
					allowed[max(keys-1, 0)][args] || allowed[keys][max(args-1, 0)]
				if !near && keys+args > 0 {
					continue
				}
				names, values := make([]string, keys), make([]any, args)
				for i := range names {
					names[i] = fmt.Sprintf("{p}%d", i)
				}
				for i := range values {
					values[i] = "1"
				}
				err := client.Eval(t.Context(), text, names, values...).Err()
				refused := err != nil && strings.Contains(err.Error(), "wrong number of keys or arguments")
				require.Equal(t, !allowed[keys][args], refused, "%s: %d keys, %d arguments: %v", s.name, keys, args, err)
				if refused {
					require.Contains(t, err.Error(), "ERR "+s.name+".lua: ")
					require.Empty(t, server.Keys(), s.name)
				} else {
					right++
					server.FlushAll()
				}
			}
		}
		require.Positive(t, right, s.name)
	}
}

// The arguments of each message say how many they are.
func TestReserveManyCountsItsArguments(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	message := append([]any{11}, slices.Repeat([]any{"1"}, 11)...)
	shared := slices.Repeat([]any{"1"}, 3)
	for what, row := range map[string]struct {
		keys  int
		args  []any
		right bool
	}{
		"two messages":            {4, slices.Concat(shared, message, message), true},
		"none":                    {2, shared, false},
		"a key is missing":        {3, slices.Concat(shared, message, message), false},
		"an argument is missing":  {4, slices.Concat(shared, message, message[:11]), false},
		"an argument too many":    {3, slices.Concat(shared, message, []any{"1"}), false},
		"too few of a message":    {3, slices.Concat(shared, []any{10}, message[1:11]), false},
		"a message without count": {3, slices.Concat(shared, []any{"many"}, message[1:]), false},
	} {
		keys := make([]string, row.keys)
		for i := range keys {
			keys[i] = fmt.Sprintf("{p}%d", i)
		}
		err := lua.ReserveMany.Run(t.Context(), client, keys, row.args...).Err()
		refused := err != nil && strings.Contains(err.Error(), "wrong number of keys or arguments")
		require.Equal(t, !row.right, refused, "%s: %v", what, err)
		server.FlushAll()
	}
}

// A number of 13 digits that tostring or ".." makes a text of loses its last
// ones on Redis, and keeps them on the embedded store.
func TestNoScriptMakesANumberAText(t *testing.T) {
	t.Parallel()
	concatenated := regexp.MustCompile(`(\S+) *\.\. *(\S+)`)
	// What is a text for certain: an argument, a generation read from a record,
	// an id, what string functions return.
	text := regexp.MustCompile(`^([\w.]+\()*(ARGV\[\d+\]|KEYS\[#KEYS\]|prefix|kind|letter|subject|flag|words\[\d\]|words?|y|whole\(.*|[rf]\[2\]|(former_)?generation|former|new|nonce|kind|start|campaign|reason|text_of\(.*|(m\.)?id|other|user|KEYS\[1\]|name|policy|event\[1\]|records(_prefix)?|suffix|category|why|limit|window|account|unit|start|attempt|part|list|seconds|micros|key|hours_key|days_key|hour|day|call|common|terms|states|rest|string\.gsub\(.*)[,)]*$`)
	literals := regexp.MustCompile(`'[^'\n]*'|"[^"\n]*"`)
	for _, s := range scripts(t) {
		code := strings.ReplaceAll(s.code, "string.format('%.0f', ", "whole(") // which keeps all digits
		code = strings.ReplaceAll(code, "string.format('%d', ", "whole(")
		code = literals.ReplaceAllString(code, "ARGV[0]")
		code = strings.ReplaceAll(code, ", ...)", ")") // the rest of the arguments
		require.NotContains(t, code, "...", s.name)
		for _, match := range concatenated.FindAllStringSubmatch(code, -1) {
			require.Regexp(t, text, match[1], "%s: %s", s.name, match[0])
			require.Regexp(t, text, match[2], "%s: %s", s.name, match[0])
		}
		for _, name := range []string{"tostring", "string.format", ":format"} {
			require.NotContains(t, code, name, s.name)
		}
	}
}

// The embedded store has none of these, and a script with a shebang is another
// script to it.
func TestNothingThatTheEmbeddedStoreLacks(t *testing.T) {
	t.Parallel()
	for _, s := range scripts(t) {
		require.NotRegexp(t, `\b(bit|struct|cmsgpack)\b`, s.code, s.name)
		require.NotRegexp(t, `redis\.(pcall|setresp|set_repl|breakpoint|register_function|acl_check_cmd)`, s.code, s.name)
		require.False(t, strings.HasPrefix(s.header, "#!"), s.name)
	}
}

// In a slot that moves between two nodes of a cluster, a script would fail after some of
// its writes, or not find a key that the other node has. So it stops before it reads or
// writes anything, unless none of that can happen to it.
func TestNoScriptRunsInASlotThatMoves(t *testing.T) {
	t.Parallel()
	const stops = `redis.call('EXISTS', KEYS[#KEYS], KEYS[#KEYS] .. '\0')` + "\n"
	safe := map[string]string{
		"place/reserve":          "with a record it stops only if that is there, see below",
		"account/change":         "it has only its KEYS, and writes before it removes",
		"account/find":           "it has only its KEYS",
		"account/remove_tier":    "it has only its KEYS, and writes once",
		"count/add_once":         "it has only its KEYS, and removes nothing",
		"charge/hold_look":       "it has only one key",
		"rate/pause":             "it has only one key, and writes once",
		"rate/learn":             "it has only one key, and writes once",
		"rate/tokens_look":       "it has only one key",
		"rate/tokens_take":       "it has only one key, and removes it last",
		"rate/tokens_give_back":  "it has only one key, and removes it last",
		"turn/job":               "it has only one key, and removes it last",
		"turn/take":              "it has only one key, and writes once",
		"event/listen":           "it has only one key, and writes before it removes",
		"setting/campaign_pause": "it has only one key, and writes once",
		"channel/stop":           "it has only one key, and writes once",
		"channel/resume":         "it has only one key, and writes once",
		"channel/take_probe":     "it has only one key, and writes once",
		"audit/erase":            "it has only one key, and writes once",
		"device/note_success":    "it has only one key, and writes once",
		"device/suspect":         "it has only one key, and writes once",
	}
	begins := regexp.MustCompile(`wrong number of keys or arguments'\)\s+end\s+`)
	for _, s := range scripts(t) {
		_, isSafe := safe[s.name]
		delete(safe, s.name)
		after := s.code[begins.FindStringIndex(s.code)[1]:]
		require.Equal(t, !isSafe, strings.HasPrefix(after, stops), s.name)
		if s.name == "place/reserve" {
			before, _, found := strings.Cut(s.code, stops)
			require.True(t, found)
			require.Regexp(t, `if not \(as_before and record\) then\s+$`, before)
			require.NotRegexp(t, `call\('(ZADD|ZREM|HSET|DEL|PEXPIRE)`, before, "it reads its KEYS before, and no more")
		}
	}
	require.Empty(t, safe, "no such scripts")
}

// A replica can run scripts that say that they write nothing.
func TestReadersCallNoCommandThatWrites(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile(`\bcall\('([A-Z]+)'`)
	readers := 0
	for _, s := range scripts(t) {
		called := commands.FindAllStringSubmatch(s.code, -1)
		require.Equal(t, len(called), strings.Count(s.code, "call("), "%s: every command is spelled out", s.name)
		if !strings.Contains(s.header, "rites nothing.") && s.name != "place/list" {
			continue
		}
		readers++
		for _, match := range called {
			require.Contains(t, []string{"TIME", "EXISTS", "GET", "MGET", "HGET", "HGETALL", "HMGET", "ZSCORE", "ZRANGE", "ZCOUNT", "ZCARD"}, match[1], s.name)
		}
	}
	require.Equal(t, 10, readers, "check, list, next_free, times, hold_look, refit, count/look, permits_look, tokens_look, count_far")
}

func TestEveryFragmentIsIncluded(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	files, err := filepath.Glob("*/*.lua")
	require.NoError(t, err)
	fragments := 0
	for _, file := range files {
		if !isFragment(file) {
			continue
		}
		fragments++
		fragment, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Regexp(t, `^-- `+strings.TrimSuffix(filepath.Base(file), ".lua")+`: [a-z].*`, string(fragment))
		first, _, _ := strings.Cut(string(fragment), "\n")
		included := 0
		for _, s := range scripts(t) {
			text, err := lua.Text(s.name)
			require.NoError(t, err)
			require.NotContains(t, text, "--@include", s.name)
			require.LessOrEqual(t, strings.Count(text, first), 1, "%s includes %s twice", s.name, file)
			included += strings.Count(text, first)
		}
		require.Positive(t, included, "nothing includes %s", file)
	}
	require.Greater(t, fragments, 40)
}

func TestTextOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := lua.Text("nothing")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "script nothing.lua: ")
}

// A server has to know all scripts before a pipeline may call them.
func TestAllIsEveryScript(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	known := make(map[string]bool)
	for _, s := range lua.All() {
		hash, err := s.Load(t.Context(), client).Result()
		require.NoError(t, err)
		require.Equal(t, s.Hash(), hash)
		known[hash] = true
	}
	for _, s := range scripts(t) {
		text, err := lua.Text(s.name)
		require.NoError(t, err)
		hash, err := client.ScriptLoad(t.Context(), text).Result()
		require.NoError(t, err)
		require.True(t, known[hash], "%s is not in All", s.name)
	}
	require.Len(t, known, len(scripts(t)))
}
