package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// errorLine is an error as an outcome.
type errorLine struct {
	Outcome string     `json:"outcome"` // "invalid" or "error"
	Code    fault.Code `json:"code,omitempty"`
	Field   string     `json:"field,omitempty"`
	Detail  string     `json:"detail"`
}

// AsksJSON reports whether a command line has --json, perhaps after a mistake.
func AsksJSON(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		value, given := strings.CutPrefix(arg, "--json=")
		on, err := strconv.ParseBool(value)
		return arg == "--json" || given && on && err == nil
	})
}

// ReportJSON prints an error as outcomes, one a line: one for each rejected
// setting or field, one for any other error. It returns the StatusError to end with.
func ReportJSON(w io.Writer, names Names, err error) error {
	encoder := json.NewEncoder(VisibleTo(w))
	encoder.SetEscapeHTML(false)
	var answer interface{ JSON() any } // of the API, which stays as it is
	if errors.As(err, &answer) {
		if failed := encoder.Encode(answer.JSON()); failed != nil {
			return fmt.Errorf("printing an error (%w): %w", err, failed)
		}
		return StatusError(ExitCode(err))
	}
	for _, line := range errorLines(err) {
		line.Detail = names.Spell(line.Detail)
		if failed := encoder.Encode(line); failed != nil {
			return fmt.Errorf("printing an error (%w): %w", err, failed)
		}
	}
	return StatusError(ExitCode(err))
}

// Report prints an error as one sentence, or one for each rejected setting or field. It says
// "not found:" for a look-up that finds nothing, and "error:" for others.
// It returns the StatusError to end with.
func Report(w io.Writer, palette Palette, names Names, err error) error {
	for _, line := range errorLines(err) {
		label := palette.Red("error:")
		if line.Code == fault.CodeNotFound {
			label = palette.Yellow("not found:")
		}
		if _, failed := fmt.Fprintf(VisibleTo(w), "%s %s\n", label, names.Spell(line.Detail)); failed != nil {
			return fmt.Errorf("printing an error (%w): %w", err, failed)
		}
	}
	return StatusError(ExitCode(err))
}

func errorLines(err error) []errorLine {
	// An InvalidError and an UnavailableError are for people. The errors around them add nothing.
	var lines []errorLine
	for _, problem := range fault.All[*fault.InvalidError](err) {
		lines = append(lines, errorLine{Outcome: "invalid", Code: problem.Code(), Field: problem.Field, Detail: problem.Error()})
	}
	if len(lines) > 0 {
		return lines
	}
	line := errorLine{Outcome: "error", Code: codeOf(err), Detail: err.Error()}
	if problem, ok := errors.AsType[*fault.UnavailableError](err); ok {
		line.Detail = problem.Detail
	}
	if errorStatus(err) == StatusInvalid {
		line.Outcome = "invalid"
	}
	if usage, ok := errors.AsType[*UsageError](err); ok {
		line.Field = usage.Field
	}
	return []errorLine{line}
}
