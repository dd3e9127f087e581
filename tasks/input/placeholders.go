package input

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// missing are the words that exports write for a missing value, in small letters.
var missing = []string{ //nolint:globals // a constant table
	"null", "(null)", "<null>", "undefined", "nan", "none", "nil", "n/a", "#n/a", "#ref!", "#value!", "#name?", "#null!", "#div/0!",
	"[object object]",
}

// maxMissing is the length of the longest of them.
const maxMissing = len("[object object]")

// unfilled is a variable of a template without its value: {{x}}, {%x%}, ${x}, <%x%>, *|x|* or %%x%%.
var unfilled = regexp.MustCompile(`\{\{.*\}\}|\{%.*%\}|\$\{.*\}|<%.*%>|\*\|.*\|\*|%%.+%%`)

// shortened is a long number as a spreadsheet shows it: its last digits are lost.
var shortened = regexp.MustCompile(`^\d([.,]\d+)?[Ee]\+\d+$`)

const looksShortened = "looks like a number that a spreadsheet shortened: format the column as text before the export"

// checkFilled refuses a user or an id that looks like an export's placeholder for a missing value:
// all such lines would share the limits of one user.
func (o Options) checkFilled(field, text string) *fault.InvalidError {
	says := ""
	switch {
	case o.Placeholders:
		return nil
	case len(text) <= maxMissing && slices.Contains(missing, strings.ToLower(text)):
		says = "is what an export writes for a missing value"
	case strings.Contains(text, "+") && shortened.MatchString(text):
		says = looksShortened
	case strings.ContainsAny(text, "{%|") && unfilled.MatchString(text):
		says = "has a variable that nothing was filled into"
	default:
		return nil
	}
	return o.placeholder(field, text, says)
}

func (o Options) placeholder(field, text, says string) *fault.InvalidError {
	if o.Flags {
		says += "; --allow-placeholders takes it as it is"
	}
	return fault.Wrong(field, "%s %q %s", field, fault.Clip(text), says)
}

// checkColumn refuses a CSV file if a spreadsheet has shortened a user: no other user of the column
// can be trusted.
func (f *file) checkColumn(o Options, line int, user string) error {
	if f.table == nil || o.Placeholders || !strings.Contains(user, "+") || !shortened.MatchString(user) {
		return nil
	}
	return o.placeholder("user", user, fmt.Sprintf("in line %d %s", line, looksShortened))
}
