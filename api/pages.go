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
	made := sync.OnceValues(d.pages) // made by the first request, since most processes never get one
	page := func(path, contentType string) route {
		return route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path},
			handle: gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
				h.Set("ETag", contents[path].tag)
				if web.Known(r, contents[path].tag) {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write(contents[path].text) // a client that is gone needs no answer
			})),
		}
	}
	return []route{
		page(openAPIPath, "application/json"),
		page(openYAMLPath, "application/yaml"),
		page(docsPath, "text/html; charset=utf-8"),
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

// pages returns the contents of the pages by path.
func (d document) pages() (map[string]content, error) {
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
	return map[string]content{openAPIPath: contentOf(asJSON), openYAMLPath: contentOf(asYAML), docsPath: contentOf(asHTML)}, nil
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
