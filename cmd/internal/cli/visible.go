package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Visible returns a text with what changes a terminal unseen as escapes such as \u202e: the
// controls of C1, which begin escape sequences in some terminals, and what turns the direction of
// writing. In JSON they mean the same. Colours and lines stay.
func Visible(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unseen(r rune) bool { return r >= 0x7f && r <= 0x9f || unicode.Is(unicode.Bidi_Control, r) }

// VisibleTo returns a writer that writes whole lines to another one, as Visible has them.
func VisibleTo(w io.Writer) io.Writer { return visibleWriter{w} }

type visibleWriter struct{ to io.Writer }

// Write writes whole characters.
func (w visibleWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, Visible(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
