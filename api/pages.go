package api

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/klauspost/compress/gzhttp"

	"github.com/sendlimit/sendlimiter/api/internal/docs"
	"github.com/sendlimit/sendlimiter/api/internal/web"
)

// pages returns the routes of the documentation: the OpenAPI document, and a page generated from it
// with its style and script. They are compressed for clients that accept it. The first request
// generates the document, since most processes never get one.
func (s *server) pages(version string, routes []route) []route {
	made := sync.OnceValue(func() document { return s.document(version, routes) })
	page := func(path, contentType string, write func() ([]byte, error)) route {
		written := sync.OnceValues(func() (content, error) {
			text, err := write()
			return contentOf(text), err
		})
		return route{
			Operation: huma.Operation{Method: http.MethodGet, Path: path},
			handle: gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, err := written()
				if err != nil {
					s.writeError(w, r, err)
					return
				}
				h := w.Header()
				h.Set("Content-Type", contentType)
				h.Set("Cache-Control", "no-cache")
				h.Set("Content-Security-Policy", docs.Policy)
				h.Set("ETag", page.tag)
				if web.Known(r, page.tag) {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write(page.text) // a client that is gone needs no answer
			})),
		}
	}
	file := func(text func() []byte) func() ([]byte, error) {
		return func() ([]byte, error) { return text(), nil }
	}
	return []route{
		page(openAPIPath, "application/json", func() ([]byte, error) { return made().json() }),
		page(openYAMLPath, "application/yaml", func() ([]byte, error) { return made().yaml() }),
		page(docs.PagePath, "text/html; charset=utf-8", func() ([]byte, error) { return s.html(made()) }),
		page(docs.StylePath, "text/css; charset=utf-8", file(docs.Style)),
		page(docs.ScriptPath, "text/javascript; charset=utf-8", file(docs.Script)),
		{Operation: huma.Operation{Method: http.MethodGet, Path: "/problems/{code}"}, handle: http.HandlerFunc(s.explainProblem)},
	}
}

const (
	openAPIPath  = "/openapi.json"
	openYAMLPath = "/openapi.yaml"
)

// content is the content of a page.
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
	text, err := d.OpenAPI.YAML()
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document as YAML: %w", err)
	}
	return text, nil
}

func (s *server) html(d document) ([]byte, error) {
	problems := make([]docs.Problem, 0, len(web.Kinds()))
	for _, k := range web.Kinds() {
		problems = append(problems, docs.Problem{Code: string(k.Code), Title: k.Title, Statuses: k.Statuses()})
	}
	text, err := docs.Page(docs.Source{
		Document: d.OpenAPI, Scopes: d.scopes, Lines: lineExamples(), Optional: optionalExamples(), Problems: problems,
		KeysOptional: !s.RequireKeys,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the reference: %w", err)
	}
	return text, nil
}

// explainProblem redirects from the type of a problem to its description on the page.
func (s *server) explainProblem(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("code")
	for _, k := range web.Kinds() {
		if code == string(k.Code) {
			http.Redirect(w, r, s.BasePath+docs.PagePath+"#problem-"+code, http.StatusSeeOther)
			return
		}
	}
	web.NotFound(w, r)
}
