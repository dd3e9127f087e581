package sendlimiter_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables of promises name tests that exist.
func TestPromisesNameTheirTests(t *testing.T) {
	t.Parallel()
	exist := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			exist[found[1]] = true
		}
		return err
	}))
	for _, page := range []string{"CONTRIBUTING.md", "docs/security.md", "docs/asvs.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, named, page)
		for _, name := range named {
			require.True(t, exist[name[1]], "%s names %s", page, name[1])
		}
	}
}

// asvs are the requirements of level 1 and 2 of OWASP ASVS 4.0.3.
const asvs = "1.1.1–1.1.7, 1.2.1–1.2.4, 1.4.1, 1.4.4–1.4.5, 1.5.1–1.5.4, 1.6.1–1.6.4, 1.7.1–1.7.2, 1.8.1–1.8.2, 1.9.1–1.9.2, " +
	"1.10.1, 1.11.1–1.11.2, 1.12.2, 1.14.1–1.14.6, 2.1.1–2.1.12, 2.2.1–2.2.3, 2.3.1–2.3.3, 2.4.1–2.4.5, 2.5.1–2.5.7, " +
	"2.6.1–2.6.3, 2.7.1–2.7.6, 2.8.1–2.8.7, 2.9.1–2.9.3, 2.10.1–2.10.4, 3.1.1, 3.2.1–3.2.4, 3.3.1–3.3.4, 3.4.1–3.4.5, " +
	"3.5.1–3.5.3, 3.7.1, 4.1.1–4.1.3, 4.1.5, 4.2.1–4.2.2, 4.3.1–4.3.3, 5.1.1–5.1.5, 5.2.1–5.2.8, 5.3.1–5.3.10, " +
	"5.4.1–5.4.3, 5.5.1–5.5.4, 6.1.1–6.1.3, 6.2.1–6.2.6, 6.3.1–6.3.2, 6.4.1–6.4.2, 7.1.1–7.1.4, 7.2.1–7.2.2, 7.3.1, " +
	"7.3.3–7.3.4, 7.4.1–7.4.3, 8.1.1–8.1.4, 8.2.1–8.2.3, 8.3.1–8.3.8, 9.1.1–9.1.3, 9.2.1–9.2.4, 10.2.1–10.2.2, " +
	"10.3.1–10.3.3, 11.1.1–11.1.8, 12.1.1–12.1.3, 12.2.1, 12.3.1–12.3.6, 12.4.1–12.4.2, 12.5.1–12.5.2, 12.6.1, 13.1.1, " +
	"13.1.3–13.1.5, 13.2.1–13.2.3, 13.2.5–13.2.6, 13.3.1–13.3.2, 13.4.1–13.4.2, 14.1.1–14.1.4, 14.2.1–14.2.6, " +
	"14.3.2–14.3.3, 14.4.1–14.4.7, 14.5.1–14.5.4"

// The page on ASVS has each requirement once, and says whether it is held.
func TestEachRequirementHasARow(t *testing.T) {
	t.Parallel()
	required := numbers(t, asvs)
	require.Len(t, required, 259)
	text, err := os.ReadFile("docs/asvs.md")
	require.NoError(t, err)
	var told []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d[^|]*) \|([^|]+)\|([^|]+)\|([^|]+)\|$`).FindAllStringSubmatch(string(text), -1) {
		told = append(told, numbers(t, row[1])...)
		require.Contains(t, []string{"yes", "partly", "no", "–"}, strings.TrimSpace(row[3]), row[1])
	}
	require.ElementsMatch(t, required, told)
}

// numbers returns the requirements that a list such as "2.1.1–2.1.3, 2.2.1" names.
func numbers(t *testing.T, list string) (all []string) {
	t.Helper()
	for part := range strings.SplitSeq(list, ", ") {
		first, last, _ := strings.Cut(part, "–")
		dot := strings.LastIndex(first, ".")
		from, err := strconv.Atoi(first[dot+1:])
		require.NoError(t, err, part)
		to := from
		if last != "" {
			to, err = strconv.Atoi(strings.TrimPrefix(last, first[:dot+1]))
			require.NoError(t, err, part)
		}
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprint(first[:dot+1], n))
		}
	}
	return all
}
