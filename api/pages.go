package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/klauspost/compress/gzhttp"

	"github.com/sendlimit/sendlimiter/api/internal/web"
)

//go:embed docs.html
var docsPage string

// pages returns the routes of the documentation: the OpenAPI document and a page made from
// it. They are compressed for clients that accept it.
func (s *server) pages(d document) []route {
	page := func(path, contentType string, write func() ([]byte, error)) route {
		made := sync.OnceValues(func() (content, error) { // by the first request, since most processes never get one
			text, err := write()
			return contentOf(text), err
		})
		return route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path},
			handle: gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, err := made()
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
				h.Set("ETag", page.tag)
				if web.Known(r, page.tag) {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write(page.text) // a client that is gone needs no answer
			})),
		}
	}
	return []route{
		page(openAPIPath, "application/json", d.json),
		page(openYAMLPath, "application/yaml", d.yaml),
		page(docsPath, "text/html; charset=utf-8", d.html),
		{Operation: huma.Operation{Method: http.MethodGet, Path: "/problems/{code}"}, handle: explainProblem},
	}
}

const (
	openAPIPath  = "/openapi.json"
	openYAMLPath = "/openapi.yaml"
	docsPath     = "/docs"
)

// content is what a page consists of.
type content struct {
	text []byte
	tag  string // weak, since it is the same for the compressed text
}

func contentOf(text []byte) content {
	return content{text, fmt.Sprintf(`W/"%x"`, sha256.Sum256(text))}
}

func (d document) json() ([]byte, error) {
	text, err := json.MarshalIndent(d.OpenAPI, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return text, nil
}

func (d document) yaml() ([]byte, error) {
	text, err := d.YAML()
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document as YAML: %w", err)
	}
	return text, nil
}

// explainProblem redirects from the type of a problem to its description on the page.
func explainProblem(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("code")
	for _, k := range web.Kinds() {
		if code == string(k.Code) {
			http.Redirect(w, r, docsPath+"#problem-"+code, http.StatusSeeOther)
			return
		}
	}
	web.NotFound(w, r)
}

// html renders the document as a page.
func (d document) html() ([]byte, error) {
	parsed, err := template.New("docs").Funcs(template.FuncMap{"spans": spans}).Parse(docsPage)
	if err != nil {
		return nil, fmt.Errorf("reading the page of the documentation: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, d.view()); err != nil {
		return nil, fmt.Errorf("writing the page of the documentation: %w", err)
	}
	return text.Bytes(), nil
}
