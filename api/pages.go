package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
)

//go:embed docs.html
var docsPage string

// pages are what is served about the operations: the OpenAPI document, and a page
// made of it.
func (s *server) pages(d document) []route {
	made := sync.OnceValues(d.pages) // by whoever asks first: most processes are never asked
	page := func(path, contentType string) route {
		return route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path},
			handle: func(w http.ResponseWriter, r *http.Request) {
				contents, err := made()
				if err != nil {
					s.writeError(w, r, err)
					return
				}
				h := w.Header()
				h.Set("Content-Type", contentType)
				h.Set("Cache-Control", "no-cache")
				h.Set("X-Content-Type-Options", "nosniff")
				h.Set("Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; script-src 'none'; "+
					"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
				h.Set("Referrer-Policy", "no-referrer")
				_, _ = w.Write(contents[path]) // who asked and has gone away gets no answer
			},
		}
	}
	return []route{
		page("/openapi.json", "application/json"),
		page("/openapi.yaml", "application/yaml"),
		page("/docs", "text/html; charset=utf-8"),
		{Operation: huma.Operation{Method: http.MethodGet, Path: "/problems/{code}"}, handle: explainProblem},
	}
}

// pages are the contents of the pages, by their paths.
func (d document) pages() (map[string][]byte, error) {
	asJSON, err := json.MarshalIndent(d.OpenAPI, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	asYAML, err := d.YAML()
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	asHTML, err := d.html()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"/openapi.json": asJSON, "/openapi.yaml": asYAML, "/docs": asHTML}, nil
}

// explainProblem leads from a problem's type to what the page says of it.
func explainProblem(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("code")
	for _, k := range web.Kinds() {
		if code == string(k.Code) {
			http.Redirect(w, r, "/docs#problem-"+code, http.StatusSeeOther)
			return
		}
	}
	web.NotFound(w, r)
}

// html renders the document.
func (d document) html() ([]byte, error) {
	parsed, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return nil, fmt.Errorf("reading the page of the documentation: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, d.view()); err != nil {
		return nil, fmt.Errorf("writing the page of the documentation: %w", err)
	}
	return text.Bytes(), nil
}
