package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const fieldBestHours = "best_hours"

const (
	// HoursOfWeek is the number of weights in BestHours.
	HoursOfWeek = 7 * 24
	// MaxWeight is the largest weight in BestHours.
	MaxWeight = 1000
)

// BestHours says how well each hour of the week suits a user: HoursOfWeek weights from 0 to
// MaxWeight, from Monday at 00:00 on, as the clocks of the user's time zone show them; nil for none.
// PreferBest draws send times by them: what counts is their ratio. With 0 in all hours of a window,
// all suit alike.
type BestHours []uint16

// ParseBestHours reads weights; without any it returns nil. The error is a *fault.InvalidError for
// the field "best_hours", or one of its numbers.
func ParseBestHours(weights []int) (BestHours, error) {
	if err := checkWeights(weights); err != nil || len(weights) == 0 {
		return nil, err
	}
	hours := make(BestHours, len(weights))
	for i, weight := range weights {
		hours[i] = uint16(weight)
	}
	return hours, nil
}

// ParseWeights reads the weights of a text, with commas or white space between them, for
// ParseBestHours. The error is a *fault.InvalidError for a weight that is no number.
func ParseWeights(text string) ([]int, error) {
	weights := []int{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		weight, err := strconv.Atoi(word)
		if err != nil {
			return nil, wrongWeight(len(weights), word)
		}
		weights = append(weights, weight)
	}
	return weights, nil
}

// HourOfWeek returns the name of an hour by its place in BestHours, such as "Tuesday at 19:00".
func HourOfWeek(i int) string {
	return fmt.Sprintf("%s at %02d:00", time.Weekday((i/24+1)%7), i%24)
}

func wrongWeight(i int, value string) *fault.InvalidError {
	field := fmt.Sprintf("%s[%d]", fieldBestHours, i)
	return &fault.InvalidError{Field: field, Value: value, Says: fmt.Sprintf(
		"%s, %s, is %s: give a whole number from 0 to %d", field, HourOfWeek(i%HoursOfWeek), fault.Clip(value), MaxWeight,
	)}
}

func checkWeights[Number int | uint16](weights []Number) error {
	if n := len(weights); n != 0 && n != HoursOfWeek {
		return &fault.InvalidError{Field: fieldBestHours, Value: strconv.Itoa(n), Says: fmt.Sprintf(
			"the length of %s is %d: give %d numbers, one for each hour of the week from Monday at 00:00 on", fieldBestHours, n, HoursOfWeek,
		)}
	}
	for i, weight := range weights {
		if weight < 0 || weight > MaxWeight {
			return wrongWeight(i, fmt.Sprint(weight))
		}
	}
	return nil
}

// Weights returns the weights as ParseBestHours reads them.
func (h BestHours) Weights() []int {
	weights := make([]int, len(h))
	for i, weight := range h {
		weights[i] = int(weight)
	}
	return weights
}

// The store has two digits for each weight.
const weightDigits, weightBase = 2, 36

func (h BestHours) stored() string {
	var s strings.Builder
	for _, weight := range h {
		fmt.Fprintf(&s, "%0*s", weightDigits, strconv.FormatInt(int64(weight), weightBase))
	}
	return s.String()
}

// readBestHours reads stored weights.
func readBestHours(text string) (BestHours, error) {
	weights := make([]int, 0, HoursOfWeek)
	for len(text) > 0 {
		digits := text[:min(weightDigits, len(text))]
		weight, err := strconv.ParseUint(digits, weightBase, 16)
		if err != nil {
			return nil, &fault.InvalidError{Field: fieldBestHours, Value: digits, Want: "two digits"}
		}
		weights, text = append(weights, int(weight)), text[len(digits):]
	}
	return ParseBestHours(weights)
}
