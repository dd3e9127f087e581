package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Error is returned when settings are rejected. Nothing was started.
type Error struct {
	// Rejected has at least one entry: problems of the sources first, then the settings in the
	// order of the example file.
	Rejected []*fault.InvalidError
}

// Error returns each rejected setting, its value and what is allowed.
func (e *Error) Error() string {
	if len(e.Rejected) == 1 {
		return e.Rejected[0].Error()
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d settings are rejected:", len(e.Rejected))
	for _, r := range e.Rejected {
		s.WriteString("\n  " + r.Error())
	}
	return s.String()
}

// Code returns fault.CodeInvalidField.
func (e *Error) Code() fault.Code { return fault.CodeInvalidField }

// Unwrap returns each rejected setting.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Rejected))
	for i, r := range e.Rejected {
		errs[i] = r
	}
	return errs
}

// rejections collects rejected settings.
type rejections []*fault.InvalidError

func (r *rejections) add(problems ...*fault.InvalidError) {
	for _, p := range problems {
		if p != nil {
			*r = append(*r, p)
		}
	}
}

// has reports whether a field, a part of it or its parent is rejected.
func (r rejections) has(field string) bool {
	return slices.ContainsFunc(r, func(p *fault.InvalidError) bool { return within(p.Field, field) || within(field, p.Field) })
}
