package message

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	maxNames     = 10 // that a sentence lists in full
	nearestNames = 3  // that it lists of more
)

// ThereAre returns the second half of a sentence about an unknown name: which names exist,
// or the nearest of them if there are many.
func ThereAre(name string, known []string) string {
	switch {
	case len(known) == 0:
		return "there are none"
	case len(known) <= maxNames:
		return "there are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	}
	byDistance := slices.SortedFunc(slices.Values(known), func(a, b string) int {
		return cmp.Or(cmp.Compare(levenshtein.ComputeDistance(name, a), levenshtein.ComputeDistance(name, b)), cmp.Compare(a, b))
	})
	return fmt.Sprintf("the nearest of %d are %s", len(known), strings.Join(byDistance[:nearestNames], ", "))
}

// PathSegment returns a name as one segment of a path of the API. A name of only dots would be a
// step in the path.
func PathSegment(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
