package dashboard_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// page is an HTML page.
type page struct {
	testing.TB

	root *html.Node
	text string
}

// page reads the page of an answer.
func (a answer) page() page {
	a.Helper()
	require.Equal(a, "text/html; charset=utf-8", a.header.Get("Content-Type"), a.body)
	root, err := html.Parse(strings.NewReader(a.body))
	require.NoError(a, err)
	return page{TB: a.rig, root: root, text: a.body}
}

// all returns the elements with a name.
func (p page) all(name string) []*html.Node {
	var found []*html.Node
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

// find returns the elements with a name whose attribute has a value.
func (p page) find(name, key, value string) []*html.Node {
	var found []*html.Node
	for _, n := range p.all(name) {
		if attribute(n, key) == value {
			found = append(found, n)
		}
	}
	return found
}

// links returns the addresses of the links whose text is as given.
func (p page) links(text string) []string {
	var found []string
	for _, n := range p.all("a") {
		if textOf(n) == text {
			found = append(found, attribute(n, "href"))
		}
	}
	return found
}

// link returns the address of a link that has to be there.
func (p page) link(text string) string {
	p.Helper()
	found := p.links(text)
	require.NotEmpty(p, found, "no link %q in %s", text, p.text)
	return found[0]
}

// plain returns all text of the page's content.
func (p page) plain() string {
	p.Helper()
	found := p.find("main", "id", "main")
	require.Len(p, found, 1, p.text)
	return textOf(found[0])
}

// cells returns the texts of the rows of all tables.
func (p page) cells() [][]string {
	var rows [][]string
	for _, tr := range p.all("tr") {
		var row []string
		for n := range tr.ChildNodes() {
			if n.Type == html.ElementNode {
				row = append(row, textOf(n))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// value returns the value of an input or the text of an area with a name.
func (p page) value(name string) string {
	p.Helper()
	for _, n := range p.find("input", "name", name) {
		if attribute(n, "type") != "hidden" {
			return attribute(n, "value")
		}
	}
	for _, n := range p.find("textarea", "name", name) {
		return rawText(n)
	}
	require.Fail(p, "no field", "%s in %s", name, p.text)
	return ""
}

// fields returns the fields of the form with an action, as a browser would send them.
func (p page) fields(action string) url.Values {
	p.Helper()
	forms := slices.DeleteFunc(p.find("form", "action", action), func(n *html.Node) bool { return attribute(n, "method") != "post" })
	require.NotEmpty(p, forms, "no form %s in %s", action, p.text)
	values := url.Values{}
	for n := range forms[0].Descendants() {
		name := attribute(n, "name")
		switch {
		case n.Type != html.ElementNode || name == "":
		case n.Data == "textarea":
			values.Add(name, rawText(n))
		case n.Data == "select":
			values.Add(name, selected(n))
		case n.Data != "input" || attribute(n, "type") == "checkbox" && !has(n, "checked"):
		default:
			values.Add(name, attribute(n, "value"))
		}
	}
	return values
}

func selected(n *html.Node) string {
	chosen, first := "", true
	for option := range n.Descendants() {
		if option.Type != html.ElementNode || !first && !has(option, "selected") {
			continue
		}
		first, chosen = false, textOf(option)
		if has(option, "value") {
			chosen = attribute(option, "value")
		}
	}
	return chosen
}

// marked returns the names of the fields that are marked as wrong.
func (p page) marked() []string {
	var names []string
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && attribute(n, "aria-invalid") == "true" {
			names = append(names, attribute(n, "name"))
		}
	}
	return names
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return strings.Contains(" "+attribute(n, "class")+" ", " "+class+" ")
}

// textOf returns the text of an element, with single spaces.
func textOf(n *html.Node) string { return strings.Join(strings.Fields(rawText(n)), " ") }

func rawText(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return text.String()
}
