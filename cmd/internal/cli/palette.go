package cli

import (
	"io"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream, an io.Reader or io.Writer, is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Palette colours text. The zero value does not change it.
type Palette struct{ on bool }

// NewPalette returns a palette that colours on a terminal, unless the environment has
// NO_COLOR or TERM=dumb.
func NewPalette(w io.Writer, getenv func(string) string) Palette {
	return Palette{on: IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// Colours reports whether the palette colours.
func (p Palette) Colours() bool { return p.on }

// Bold is for the most important part.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim is for details.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Red is for failures.
func (p Palette) Red(s string) string { return p.paint("31", s) }

// Green is for accepted and free.
func (p Palette) Green(s string) string { return p.paint("32", s) }

// Yellow is for refused and taken.
func (p Palette) Yellow(s string) string { return p.paint("33", s) }

func (p Palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
