package integration_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
)

// pagesOf returns the names of the pages for users, whose commands, pictures, examples and links
// must be true: the README, and all in docs and examples.
func pagesOf(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, folder := range []string{"docs", "examples"} {
		require.NoError(t, fs.WalkDir(os.DirFS(".."), folder, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		}))
	}
	return pages
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	require.NoError(t, err)
	return string(text)
}

// block is a fenced block of a page.
type block struct {
	heading string // the one above it
	prose   string // between it and the block before
	kind    string // sh, console, json …
	text    string
}

// first returns the first line, which names a block of commands.
func (b block) first() string {
	line, _, _ := strings.Cut(b.text, "\n")
	return line
}

// blocksOf returns the fenced blocks of a page, in order. One may be indented, in a list.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	var blocks []block
	heading, prose, indent, open := "", "", "", false
	for line := range strings.Lines(readPage(t, page)) {
		trimmed := strings.TrimSpace(line)
		switch {
		case open && trimmed == "```":
			open = false
		case open:
			blocks[len(blocks)-1].text += strings.TrimPrefix(line, indent)
		case strings.HasPrefix(trimmed, "```"):
			open = true
			indent, _, _ = strings.Cut(line, "`")
			blocks = append(blocks, block{heading: heading, prose: prose, kind: trimmed[len("```"):]})
			prose = ""
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		default:
			prose += line
		}
	}
	require.False(t, open, "%s: a block without end", page)
	return blocks
}

// fenced returns the content of the only block of that kind under a heading.
func fenced(t *testing.T, page, heading, kind string) string {
	t.Helper()
	var found []string
	for _, b := range blocksOf(t, page) {
		if b.heading == heading && b.kind == kind {
			found = append(found, b.text)
		}
	}
	require.Len(t, found, 1, "%s: one block of %s under %s", page, kind, heading)
	return found[0]
}

// anchorsOf returns the names of the headings of a page, as GitHub makes them.
func anchorsOf(t *testing.T, page string) []string {
	t.Helper()
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(readPage(t, page), -1) {
		plain := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	return anchors
}

// Each link of a page leads to a file that is there, and to a heading that it has.
func TestLinksOfPages(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range append(pagesOf(t), "CONTRIBUTING.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.HasPrefix(link[1], "https://") {
				continue
			}
			file, anchor, _ := strings.Cut(link[1], "#")
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), file)
			}
			require.FileExists(t, filepath.Join("..", to), page)
			if anchor != "" {
				require.Contains(t, anchorsOf(t, to), anchor, "%s links to %s", page, link[1])
			}
			checked++
		}
	}
	require.Greater(t, checked, 50)
}

// The index leads to every page of docs and examples.
func TestTheIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	index := readPage(t, "README.md") + readPage(t, "docs/README.md") + readPage(t, "examples/README.md")
	for _, page := range pagesOf(t) {
		if page == "README.md" || page == "docs/README.md" {
			continue
		}
		require.Regexp(t, regexp.QuoteMeta("/"+filepath.Base(page))+`[)#]|\(`+regexp.QuoteMeta(filepath.Base(page)), index, page)
	}
	require.LessOrEqual(t, strings.Count(readPage(t, "README.md"), "\n"), 120, "the README decides and starts; docs have the rest")
}

// What pages name exists: targets of make, folders, programs with their commands, and flags.
func TestPagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	makefile := readPage(t, "Makefile")
	help := make(map[string]string) // by program and command
	helpOf := func(words ...string) string {
		key := strings.Join(words, " ")
		if _, asked := help[key]; !asked {
			shown := p.command(t, words[0], nil, append(slices.Clone(words[1:]), "--help"))
			require.Zero(t, shown.status, "%s: %s", key, shown.stderr)
			help[key] = shown.stdout
		}
		return help[key]
	}
	flagsOf := regexp.MustCompile(`(?:^|[\s(])(--[a-z][a-z-]+)`)
	for _, page := range pagesOf(t) {
		text := readPage(t, page)
		for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			require.Regexp(t, "(?m)^"+target[1]+":", makefile, page)
		}
		for _, folder := range regexp.MustCompile(`(?m)(?:go run \./|^    )((?:cmd|sendlimit|examples)/[a-z/-]+|api|client)\b`).FindAllStringSubmatch(text, -1) {
			require.DirExists(t, filepath.Join("..", folder[1]), page)
		}
		// Commands in sentences and in lists; those in blocks are run.
		calls := regexp.MustCompile("(?m)[`]?(?:^    |`)(sendlimit(?:-worker)?)((?: [a-z-]+)*)((?: [^`\n]*)?)").FindAllStringSubmatch(text, -1)
		for _, call := range calls {
			words := []string{call[1]}
			for word := range strings.FieldsSeq(call[2]) {
				if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(word) + `\s`).MatchString(helpOf(words...)) {
					break // an argument, or prose
				}
				words = append(words, word)
			}
			if rest := strings.Fields(call[2]); len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				require.Greater(t, len(words), 1, "%s: %s", page, call[0])
			}
			for _, flag := range flagsOf.FindAllStringSubmatch(call[2]+call[3], -1) {
				require.Regexp(t, regexp.QuoteMeta(flag[1])+`\b`, helpOf(words...), "%s: %s", page, call[0])
			}
		}
	}
	require.Greater(t, len(help), 15)
}

// The programs have the names that a reader types; worker and enqueue are only folders.
func TestPagesNameThePrograms(t *testing.T) {
	t.Parallel()
	for _, page := range append(pagesOf(t), "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "sendlimit.example.yaml") {
		require.NotRegexp(t, "(?m)(?:^    |^\\$ |[`\"])(?:worker|enqueue) [a-z-]", readPage(t, page), page)
	}
}

// A user finds every code of an answer in the page for it.
func TestTroubleshootingHasEveryCode(t *testing.T) {
	t.Parallel()
	page := readPage(t, "docs/troubleshooting.md")
	codes := regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(readPage(t, "client/operations_generated.go"), -1)
	require.Greater(t, len(codes), 30)
	for _, code := range codes {
		require.Contains(t, page, "`"+code[1]+"`")
	}
}

// Each recipe is a policy that can be applied.
func TestRecipesArePolicies(t *testing.T) {
	t.Parallel()
	recipes := blocksOf(t, "docs/recipes.md")
	require.NotEmpty(t, recipes)
	for _, recipe := range recipes {
		if recipe.kind == "yaml" {
			_, err := config.ReadPolicy(config.StandardInput, strings.NewReader(recipe.text), "default", time.Now())
			require.NoError(t, err, recipe.heading)
		}
	}
}

// The table of docs/operations.md has settings that there are, with their defaults. The example
// file, which is tested to have every setting, says what these are.
func TestSettingsOfTheOperationsPage(t *testing.T) {
	t.Parallel()
	var settings map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(readPage(t, "sendlimit.example.yaml")), &settings))
	_, table, found := strings.Cut(readPage(t, "docs/operations.md"), "| setting | default | decide |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	checked := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		names := regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(cells[1], -1)
		stated := strings.Trim(strings.TrimSpace(cells[2]), "`")
		for _, name := range names {
			var value any = settings
			for part := range strings.SplitSeq(name[1], ".") {
				group, ok := value.(map[string]any)
				require.True(t, ok, name[1])
				value, ok = group[part]
				require.True(t, ok, "there is no setting %s", name[1])
			}
			is := fmt.Sprint(value)
			if is == "" || is == "[]" {
				is = "–"
			}
			require.Equal(t, is, stated, name[1])
			checked++
		}
	}
	require.Greater(t, checked, 15)
}
