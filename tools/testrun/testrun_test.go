package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const goodTests = `package a

import (
	"os"
	"testing"
)

func long(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	if os.Getenv("TESTRUN_FAIL") == t.Name() {
		t.Fatal("a long one fails")
	}
}

func TestShort(t *testing.T) {
	if os.Getenv("TESTRUN_FAIL") == t.Name() {
		t.Fatal("a short one fails")
	}
}
func TestLong(t *testing.T)    { long(t) }
func TestPartly(t *testing.T)  { t.Run("long", long) }
func TestNowhere(t *testing.T) { t.Skip("is run elsewhere") }
func FuzzNothing(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }
`

// A main function of the tests that forgets to run them.
const forgetfulTests = `package b

import "testing"

func TestMain(*testing.M)      {}
func TestForgotten(t *testing.T) {}
`

// A test that does not end, and one that ends later.
const hangingTests = `package c

import (
	"testing"
	"time"
)

func TestEnds(t *testing.T)  { t.Parallel(); time.Sleep(100 * time.Millisecond) }
func TestHangs(t *testing.T) { t.Parallel(); select {} }
`

// run runs the tests of a module with the given files.
func run(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	return runWithin(t, time.Minute, files)
}

// runWithin runs the tests of a module, each package within a time.
func runWithin(t *testing.T, timeout time.Duration, files map[string]string) (string, error) {
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
	var out strings.Builder
	err := runAll(&out, []string{"./..."}, 0, false, timeout)
	t.Log(out.String())
	return out.String(), err
}

func TestEveryTestRunsOnce(t *testing.T) {
	out, err := run(t, map[string]string{"a/a_test.go": goodTests})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-- 3 long tests", "skipped: example/a TestNowhere: a_test.go:24: is run elsewhere", "-- 4 of 5 tests ran",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestAFailureInEitherPartCounts(t *testing.T) {
	for test, want := range map[string]string{"TestShort": "a short one fails", "TestLong": "a long one fails", "TestPartly/long": "a long one fails"} {
		t.Run(test, func(t *testing.T) {
			t.Setenv("TESTRUN_FAIL", test)
			out, err := run(t, map[string]string{"a/a_test.go": goodTests})
			if err == nil || !strings.Contains(out, want) || !strings.Contains(err.Error(), "example/a "+test+" failed: a_test.go:") {
				t.Errorf("no failure with %q: %v", want, err)
			}
		})
	}
}

func TestAForgottenTestFails(t *testing.T) {
	_, err := run(t, map[string]string{"a/a_test.go": goodTests, "b/b_test.go": forgetfulTests})
	if err == nil || err.Error() != "example/b TestForgotten did not run" {
		t.Errorf("got %v", err)
	}
}

func TestAHangingTestIsNamed(t *testing.T) {
	out, err := runWithin(t, time.Second, map[string]string{"c/c_test.go": hangingTests})
	if err == nil || !strings.Contains(err.Error(), "example/c TestHangs did not end") || strings.Contains(err.Error(), "TestEnds") {
		t.Errorf("got %v", err)
	}
	if want := "c.TestHangs("; !strings.Contains(out, want) {
		t.Errorf("no stack with %q", want)
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
