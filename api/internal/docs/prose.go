package docs

import (
	"regexp"
	"strings"
)

// block is a paragraph, or a list of items.
type block struct {
	List  bool
	Items [][]span // of a paragraph there is one
}

type span struct {
	Text string
	Code bool
	Link string // where it leads; "" for nowhere
}

// links are the anchors of words in a text: operations by their ids, problems by their codes.
type links map[string]string

// prose reads the Markdown of descriptions: paragraphs, lists whose items begin with "- ", code
// between backticks, and [links](https://example.com). A word with an underscore becomes code. Ids
// of operations and codes of problems become links. Everything else is text.
func (l links) prose(text string) []block {
	var blocks []block
	for part := range strings.SplitSeq(text, "\n\n") {
		var paragraph []string
		var items [][]span
		flush := func() {
			if len(paragraph) > 0 {
				blocks = append(blocks, block{Items: [][]span{l.spans(strings.Join(paragraph, " "))}})
			}
			if len(items) > 0 {
				blocks = append(blocks, block{List: true, Items: items})
			}
			paragraph, items = nil, nil
		}
		for line := range strings.SplitSeq(part, "\n") {
			item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
			switch {
			case listed && len(items) == 0:
				flush()
				items = [][]span{l.spans(item)}
			case listed:
				items = append(items, l.spans(item))
			case strings.TrimSpace(line) != "":
				if len(items) > 0 {
					flush()
				}
				paragraph = append(paragraph, strings.TrimSpace(line))
			}
		}
		flush()
	}
	return blocks
}

// marks matches code, a link, a word that may be an operation's id, and a name. An unclosed
// backtick is text.
var marks = regexp.MustCompile("`([^`]+)`" + `|\[([^\]]+)\]\(((?:https?://|#|/[^/\s)])[^\s)]*)\)|\b[a-z]+[A-Z][A-Za-z]*\b|\b[a-z0-9]+(?:_[a-z0-9]+)+\b`)

func (l links) spans(text string) []span {
	var all []span
	add := func(s span) {
		if s.Text != "" {
			all = append(all, s)
		}
	}
	from := 0
	for _, at := range marks.FindAllStringSubmatchIndex(text, -1) {
		found := span{Text: text[at[0]:at[1]]}
		switch {
		case at[2] >= 0:
			code := text[at[2]:at[3]]
			found = span{Text: code, Code: true, Link: l[code]}
		case at[4] >= 0:
			found = span{Text: text[at[4]:at[5]], Link: text[at[6]:at[7]]}
		case strings.Contains(found.Text, "_"):
			found.Code, found.Link = true, l[found.Text]
		case l[found.Text] == "":
			continue
		default:
			found.Link = l[found.Text]
		}
		add(span{Text: text[from:at[0]]})
		add(found)
		from = at[1]
	}
	add(span{Text: text[from:]})
	return all
}
