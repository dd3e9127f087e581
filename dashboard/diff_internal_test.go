package dashboard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	require.Empty(t, diffOf("a\nb", "a\nb"))
	require.Equal(t, []diffLine{{"-", "a"}, {"+", "b"}}, diffOf("a", "b"))
	require.Equal(t, []diffLine{{" ", "b"}, {"-", "c"}, {"+", "x"}, {" ", "d"}}, diffOf("a\nb\nc\nd\ne", "a\nb\nx\nd\ne"))
	require.Equal(t, []diffLine{{" ", "a"}, {"+", "b"}}, diffOf("a", "a\nb"))
}

// The lines without a sign or with one of the two are a part of the text before or after, in
// order, and all that differs is there.
func TestDiffsAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12)
		before, after := list.Draw(t, "before"), list.Draw(t, "after")
		diff := diffOf(strings.Join(before, "\n"), strings.Join(after, "\n"))
		require.Equal(t, len(diff) == 0, strings.Join(before, "\n") == strings.Join(after, "\n"))
		was, is := strings.Split(strings.Join(before, "\n"), "\n"), strings.Split(strings.Join(after, "\n"), "\n")
		removed, added := 0, 0
		for _, line := range diff {
			switch line.Sign {
			case "-":
				removed++
			case "+":
				added++
			}
			if line.Sign != "+" {
				was = behind(t, was, line.Text)
			}
			if line.Sign != "-" {
				is = behind(t, is, line.Text)
			}
		}
		require.Equal(t, len(strings.Split(strings.Join(after, "\n"), "\n"))-len(strings.Split(strings.Join(before, "\n"), "\n")), added-removed)
	})
}

// behind returns what follows a line, which has to be there.
func behind(t *rapid.T, lines []string, line string) []string {
	for i, one := range lines {
		if one == line {
			return lines[i+1:]
		}
	}
	require.Fail(t, "no line", line)
	return nil
}
