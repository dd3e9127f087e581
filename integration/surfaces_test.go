package integration_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// Whatever the product can do, it can do everywhere: from Go, on the command line, over
// HTTP and with package client. A new method, command, operation or call belongs to a row
// of surfaces(), beside those that do the same; where there is none of them, the row says
// why.
func TestEverySurfaceDoesTheSame(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	pages := manualOf(t, p)
	present := map[string][]string{
		"library": libraryMethods(), "command": slices.Collect(maps.Keys(pages)), "api": operationsOf(t, p), "client": methodsOf(reflect.TypeFor[*client.Client]()),
	}
	listed := make(map[string]map[string]bool)
	for surface := range present {
		listed[surface] = make(map[string]bool)
	}
	for _, row := range surfaces() {
		for surface, names := range map[string]string{"library": row.library, "command": row.command, "api": row.api, "client": row.client} {
			why := row.but[surface]
			require.Equal(t, names == "", why != "", "%s: give either what does it in the %s, or the reason why nothing does", row.what, surface)
			for name := range strings.SplitSeq(names, ", ") {
				if command, flag, with := strings.Cut(name, " --"); with {
					require.Contains(t, pages[command], "--"+flag, "%s: the manual of %s knows no such flag", row.what, command)
					name = command
				}
				listed[surface][name] = true
			}
		}
	}
	for surface, apart := range map[string]map[string]string{"library": besideOperations(), "command": operatorsOnly(), "client": notCalls()} {
		for name, why := range apart {
			require.NotEmpty(t, why, "%s of the %s: say what it is for", name, surface)
			require.False(t, listed[surface][name], "%s of the %s is in surfaces() and apart from it: remove one", name, surface)
			listed[surface][name] = true
		}
	}
	for surface, names := range present {
		delete(listed[surface], "")
		var news []string
		for _, name := range names {
			if !listed[surface][name] {
				news = append(news, name)
			}
			delete(listed[surface], name)
		}
		require.Empty(t, news, "new in the %s, and in no row of surfaces() in integration/surfaces_list_test.go: add each to a row, "+
			"with what does the same in the library, on the command line, in the API and in package client", surface)
		require.Empty(t, slices.Sorted(maps.Keys(listed[surface])), "the %s has not what surfaces() in integration/surfaces_list_test.go lists", surface)
	}
}

// methodsOf returns the methods of a type that callers can use.
func methodsOf(of reflect.Type) []string {
	var names []string
	for method := range of.Methods() {
		names = append(names, method.Name)
	}
	return names
}

// libraryMethods returns the methods of the types that operators and callers work with:
// "Submitter.Submit".
func libraryMethods() []string {
	var names []string
	for prefix, of := range libraryTypes() {
		for _, method := range methodsOf(of) {
			names = append(names, prefix+"."+method)
		}
	}
	return names
}

// manualOf returns the manual pages of the commands of both programs that do something, by
// their names: "worker user erase".
func manualOf(t *testing.T, p programs) map[string]string {
	t.Helper()
	folder := t.TempDir()
	require.Zero(t, p.workerCommand(t, nil, "man", folder).status)
	require.Zero(t, p.enqueue(t, nil, "man", folder).status)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	commands := make(map[string]string)
	for _, page := range files {
		text, err := os.ReadFile(filepath.Join(folder, page.Name()))
		require.NoError(t, err)
		if name, found := synopsisOf(string(text)); found && !strings.Contains(name, " completion") {
			commands[name] = strings.ReplaceAll(string(text), `\-`, "-")
		}
	}
	for name := range maps.Clone(commands) { // a group does nothing
		if last := strings.LastIndex(name, " "); last > 0 {
			delete(commands, name[:last])
		}
	}
	require.NotEmpty(t, commands)
	return commands
}

// synopsisOf returns the name of the command that a manual page is about.
func synopsisOf(page string) (name string, found bool) {
	_, after, found := strings.Cut(page, "\n.SH SYNOPSIS\n")
	line, _, _ := strings.Cut(strings.TrimPrefix(after, ".PP\n"), "\n")
	line = strings.NewReplacer(`\fB`, "", `\fP`, "", `\-`, "-", `\ `, " ").Replace(line)
	var words []string
	for word := range strings.FieldsSeq(line) {
		if strings.ToLower(word) != word || strings.HasPrefix(word, "[") || strings.HasPrefix(word, "-") {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), found
}

// operationsOf returns the operations of the API of a running worker.
func operationsOf(t *testing.T, p programs) []string {
	t.Helper()
	w := p.worker(t, nil)
	address, err := url.Parse(w.logged(t, "API endpoint", "url"))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.Host+"/openapi.json", http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	var document struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&document))
	var ids []string
	for _, methods := range document.Paths {
		for _, operation := range methods {
			ids = append(ids, operation.ID)
		}
	}
	require.NotEmpty(t, ids)
	return ids
}
