package generate

import "strings"

// widest is the length of a line of a comment.
const widest = 96

// wrapped breaks text into lines, and keeps its paragraphs.
func wrapped(text string, width int) []string {
	var all []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if len(all) > 0 {
			all = append(all, "")
		}
		line := ""
		for w := range strings.FieldsSeq(paragraph) {
			switch {
			case line == "":
				line = w
			case len(line)+1+len(w) > width:
				all = append(all, line)
				line = w
			default:
				line += " " + w
			}
		}
		all = append(all, line)
	}
	return all
}

func upperFirst(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
