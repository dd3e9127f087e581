package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const someTests = `package a

import (
	"os"
	"testing"
	"time"
)

func TestFails(t *testing.T) {
	if os.Getenv("TESTRUN_FAIL") != "" {
		t.Fatal("on purpose")
	}
}
func TestPartly(t *testing.T)  { t.Run("sub", TestFails) }
func TestNowhere(t *testing.T) { t.Skip("is run elsewhere") }
func TestEnds(t *testing.T)    { t.Parallel() }
func TestHangs(t *testing.T)   {
	t.Parallel()
	for os.Getenv("TESTRUN_HANG") != "" {
		time.Sleep(time.Millisecond)
	}
}
func FuzzNothing(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }
`

// A main function of the tests that forgets to run them.
const forgetfulTests = `package a

import "testing"

func TestMain(*testing.M)        {}
func TestForgotten(t *testing.T) {}
`

// goroutines is a package that starts one.
const goroutines = `package a

func Start() { go func() {}() }
`

// run runs a part with the given files as its module.
func run(t *testing.T, p part, files map[string]string) (string, bool) {
	t.Helper()
	t.Chdir(t.TempDir())
	files["go.mod"] = "module example\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.name, p.folder, p.packages = "all", ".", []string{"./..."}
	var out strings.Builder
	r := newReport(&out)
	runAll(t.Context(), r, []part{p}, 7)
	passed := r.end()
	t.Log(out.String())
	return out.String(), passed
}

func requireLines(t *testing.T, out string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("no line that ends with %q", want)
		}
	}
}

func TestTestsAreRunAndCounted(t *testing.T) {
	// Two programs have the same name.
	out, passed := run(t, part{}, map[string]string{"a/a_test.go": someTests, "b/a/a_test.go": someTests})
	if !passed {
		t.Error("it failed")
	}
	requireLines(t, out, "seed 7: make test SEED=7 tries the same again", "-- skipped: example/b/a TestNowhere: a_test.go:15: is run elsewhere", "10 passed, 0 failed, 2 skipped")
}

func TestWhatFailsIsSaidAtTheEnd(t *testing.T) {
	t.Setenv("TESTRUN_FAIL", "1")
	out, passed := run(t, part{}, map[string]string{"a/a_test.go": someTests})
	if passed {
		t.Error("it passed")
	}
	requireLines(t, out, "-- failed: example/a TestFails: a_test.go:11: on purpose", "-- failed: example/a TestPartly/sub: a_test.go:11: on purpose",
		"3 passed, 3 failed, 1 skipped")
}

func TestAPackageThatRunsNoTestFails(t *testing.T) {
	for _, files := range []map[string]string{
		{"a/a_test.go": forgetfulTests},
		{"a/a_test.go": "package a\n\nneither Go nor English"},
	} {
		if _, passed := run(t, part{}, files); passed {
			t.Error("it passed")
		}
	}
}

func TestAHangingTestIsNamed(t *testing.T) {
	t.Setenv("TESTRUN_HANG", "1")
	out, passed := run(t, part{timeout: time.Second}, map[string]string{"a/a_test.go": someTests})
	if passed || !strings.Contains(out, "a.TestHangs(") {
		t.Error("it passed, or shows no stack")
	}
	requireLines(t, out, "-- failed: example/a TestHangs")
}

// Every package that starts goroutines is in the table of what the race detector watches, and
// each of its patterns has a test.
func TestTheTableOfRacesIsComplete(t *testing.T) {
	files := map[string]string{"a/a.go": goroutines, "a/a_test.go": someTests, "b/a/a.go": goroutines}
	for _, c := range []struct {
		race map[string]string
		want string
	}{
		{map[string]string{"a": "."}, "b/a starts goroutines in a.go: name in race.go the tests that the race detector watches"},
		{map[string]string{"a": ".", "b/a": "in c"}, "race.go names b/a: in c, which is not there"},
		{map[string]string{"a": ".", "b/a": "in a", "c": "."}, "race.go names c: ., which is not there"},
	} {
		out, passed := run(t, part{race: c.race}, files)
		if passed {
			t.Error("it passed")
		}
		requireLines(t, out, c.want)
	}
}

func TestWhyATestFailed(t *testing.T) {
	assertion := "    a_test.go:1: a log\n    a_test.go:2: \n\tError Trace:\ta_test.go:2\n\tError:      \tNot equal\n"
	for text, want := range map[string]string{
		"--- FAIL: TestA (0.00s)\n":                     "",
		"--- FAIL: TestA (0.00s)\n    a_test.go:1: b\n": ": a_test.go:1: b",
		assertion: ": Error Trace: a_test.go:2 Error: Not equal",
		strings.Repeat("a log\n", 100) + "the end\n":                          ": " + tail(strings.Repeat("a log ", 100)+"the end", 400),
		strings.Repeat("a log\n", 9) + assertion + strings.Repeat("b\n", 900): ": " + head("Error Trace: a_test.go:2 Error: Not equal"+strings.Repeat(" b", 900), 400),
	} {
		if got := why(text); got != want {
			t.Errorf("of %q: got %q, want %q", text, got, want)
		}
	}
}
