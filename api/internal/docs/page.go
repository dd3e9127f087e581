package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/danielgtaylor/huma/v2"
)

// Where the page and its files are served.
const (
	PagePath   = "/docs"
	StylePath  = "/docs/docs.css"
	ScriptPath = "/docs/docs.js"
)

// Policy is the Content-Security-Policy of the page. Nothing is inline, and the page
// connects to nothing. Its icon is a data URL.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Server is the address in the examples. The script puts the page's own in its place.
const Server = "http://127.0.0.1:8080"

//go:embed docs.html
var page string

//go:embed docs.css
var style []byte

//go:embed docs.js
var script []byte

// Style returns the style sheet of the page.
func Style() []byte { return bytes.Clone(style) }

// Script returns the script of the page.
func Script() []byte { return bytes.Clone(script) }

// Source is the input of the page.
type Source struct {
	Document *huma.OpenAPI
	// Scopes has the required scope of each operation by its id.
	Scopes map[string]string
	// Lines has examples of bodies of lines, by the operation's id. Examples of other bodies are in
	// the document.
	Lines map[string][]json.RawMessage
	// Optional has the optional parameters that an example includes, by the operation's id.
	Optional map[string][]string
	// Problems are the codes of answers that are not a success.
	Problems []Problem
	// KeysOptional is set if requests without a key are accepted.
	KeysOptional bool
}

// Problem is a code and the statuses that it can have.
type Problem struct {
	Code, Title string
	Statuses    []int
}

// Page renders the page.
func Page(s Source) ([]byte, error) {
	v := s.view()
	parsed, err := template.New("docs").Funcs(template.FuncMap{
		"prose":   v.links.prose,
		"path":    segments,
		"version": version,
		"style":   Style,
		"script":  Script,
	}).Parse(page)
	if err != nil {
		return nil, fmt.Errorf("reading the page of the documentation: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, v); err != nil {
		return nil, fmt.Errorf("writing the page of the documentation: %w", err)
	}
	return text.Bytes(), nil
}

// version returns the query of a file's address, which changes with its content.
func version(file []byte) string {
	return fmt.Sprintf("%.6x", sha256.Sum256(file))
}
