// Package core has a fault on each line with a want comment, and none elsewhere.
package core

import (
	"context"
	/* want names reports nothing here */
	"crypto/sha1" //nolint:names // imports are fine
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

var counter int /* want counter is a global variable */ /* want counter is unused */

// ErrGone is returned when it is gone.
var ErrGone = errors.New("gone")

var digits = regexp.MustCompile(`\d`)

//nolint:globals // a table
var (
	first  = []int{1}
	second = []int{2}
)

var third = []int{ //nolint:globals // a table
	3,
}

/* want give the reason */
var fourth = []int{4} //nolint:globals

/* want name the analyzer */
var fifth = []int{5} /* want fifth is a global */ //nolint

/* want there is no analyzer gosec */
var sixth = []int{6} //nolint:gosec,globals // it is not here

func init() { counter = len(digits.String()) } /* want no init functions */

// State is one of three.
type State int

// The states.
const (
	Begun State = iota
	Done
	Failed
)

type held struct {
	ctx context.Context /* want a context is an argument */
}

type Bare struct{} /* want Bare is exported and has no comment */

// This is a comment.
func Wrong() {} /* want the comment of Wrong does not begin with its name */

// Error says it.
func (s State) Error() string { return "" }

func idle() {} /* want func idle is unused */

// Faults has many.
func Faults(ctx context.Context, file *os.File, v any, s State, h held) (string, error) {
	fmt.Sprintf("%d", "x") /* want wrong type string (printf) */ /* want wrong type string (SA5009) */ /* want result of fmt.Sprintf call not used */
	file.Truncate(1)       /* want the error of file.Truncate is not handled */
	defer file.Close()     // harmless
	now := time.Now()      /* want take the time or a clock */
	_ = sha1.Sum(nil)      /* want use SHA-256 */
	r, err := http.Get("") /* want take a context */
	if err == ErrGone {    /* want Use errors.Is */
		return "", nil
	}
	if err != nil {
		return "", nil /* want err is not nil here */
	}
	defer r.Body.Close()
	if err != nil {
		fmt.Println(err)
		return "", nil
	}
	switch s { /* want missing cases in expression switch: Failed */
	case Begun, Done:
	}
	switch s {
	case Begun:
	default:
	}
	switch v := slog.AnyValue(v); v.Kind() { /* want missing cases in expression switch: slog.KindAny */
	case slog.KindBool:
	}
	text := v.(string)               /* want type assertion must be checked */
	fmt.Println(strings.Title(text)) /* want strings.Title has been deprecated */
	wait := 2 * time.Second * time.Duration(3)
	wait *= time.Second                                 /* want Multiplication of durations */
	slog.Info("a")                                      /* want default logger should not be used */
	_ = context.Background()                            /* want pass on the context of the caller */
	slog.New(nil).InfoContext(ctx, "a", "badKey", wait) /* want snake_case */
	fmt.Println(first, second, third, fourth, fifth, sixth, now, h.ctx)
	if _, err := io.ReadAll(file); err != nil {
		return text, err /* want error returned from external package is unwrapped */
	}
	return text, fmt.Errorf("%v", err) /* want non-wrapping format verb */
}
