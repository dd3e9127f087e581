package dashboard

import (
	"slices"
	"strings"
)

// diffLine is a line of a difference between two texts.
type diffLine struct {
	Sign string // "+", "-" or " "
	Text string
}

// diffOf returns the lines in which two texts differ, with a line around them. It finds the
// longest common subsequence, which takes as long as the product of their lines: texts here have
// tens of lines.
func diffOf(before, after string) []diffLine {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, before := range slices.Backward(a) {
		for j, after := range slices.Backward(b) {
			if before == after {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []diffLine
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, diffLine{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, diffLine{"-", a[i]})
			i++
		default:
			all = append(all, diffLine{"+", b[j]})
			j++
		}
	}
	return around(all)
}

// around returns the lines that differ with the line before and after them.
func around(all []diffLine) []diffLine {
	var shown []diffLine
	for i, line := range all {
		near := line.Sign != " " || i > 0 && all[i-1].Sign != " " || i+1 < len(all) && all[i+1].Sign != " "
		if near {
			shown = append(shown, line)
		}
	}
	return shown
}
