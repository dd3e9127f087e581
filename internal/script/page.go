package script

import (
	"slices"
	"sort"
)

// PageOf sorts names, and returns the page that begins after the name after, with at most limit
// names. Next is the last name of the page if there are more, and "" at the end of the list.
// Changes before a page do not move its begin.
func PageOf(names []string, after string, limit int) (page []string, next string) {
	slices.Sort(names)
	from := sort.Search(len(names), func(i int) bool { return names[i] > after })
	page = names[from:]
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1]
	}
	return page, next
}
