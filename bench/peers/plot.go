package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// bar is a row of a plot. A range from low to high is drawn if there is one.
type bar struct {
	label     string
	value     float64
	low, high float64
	ours      bool
}

// plot returns bars as an SVG, which reads on light and dark pages.
func plot(title, unit string, bars []bar) string {
	const (
		left, width, right = 250, 400, 150
		top, step, height  = 44, 30, 18
	)
	most := 0.0
	for _, b := range bars {
		most = max(most, b.value, b.high)
	}
	if most == 0 {
		most = 1
	}
	scale := func(v float64) float64 { return max(v, 0) / most * width }
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img"`,
		left+width+right, top+step*len(bars)+8)
	fmt.Fprintf(&s, ` font-family="system-ui, sans-serif" font-size="14"><title>%s</title>`+"\n", html.EscapeString(title))
	s.WriteString(`<rect width="100%" height="100%" rx="8" fill="#fff"/>` + "\n")
	fmt.Fprintf(&s, `<text x="16" y="26" font-weight="600" fill="#1f2328">%s</text>`+"\n", html.EscapeString(title))
	for i, b := range bars {
		y := top + step*i
		colour := "#8b949e"
		if b.ours {
			colour = "#0969da"
		}
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end" fill="#1f2328">%s</text>`, left-10, y+height-4, html.EscapeString(b.label))
		fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, left, y, max(scale(b.value), 1), height, colour)
		end := scale(b.value)
		if b.high > b.low {
			end = max(end, scale(b.high))
			middle := y + height/2
			fmt.Fprintf(&s, `<path d="M%.1f %d H%.1f" stroke="#1f2328" stroke-width="2"/>`, left+scale(b.low), middle, left+scale(b.high))
		}
		fmt.Fprintf(&s, `<text x="%.1f" y="%d" fill="#1f2328">%s %s</text>`+"\n", left+end+8, y+height-4, number(b.value), html.EscapeString(unit))
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// number prints a figure with about three digits.
func number(v float64) string {
	switch {
	case v == math.Trunc(v), v <= -100, v >= 100:
		return count(int(math.Round(v)))
	case v > -10 && v < 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// count prints an integer with its digits in groups of three.
func count(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
