package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files of pages. Each address has a hash of its content, so that browsers may cache
// it forever.
type assets struct {
	byPath map[string]asset  // by address
	paths  map[string]string // addresses by name
}

type asset struct {
	kind string
	text []byte
}

// assetKinds are the kinds of files that are served. Others, such as licences, are not.
func assetKind(name string) string {
	switch path.Ext(name) {
	case ".css", ".js", ".svg":
		return mime.TypeByExtension(path.Ext(name))
	default:
		return ""
	}
}

func readAssets() (assets, error) {
	a := assets{byPath: make(map[string]asset), paths: make(map[string]string)}
	err := fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || assetKind(name) == "" {
			return err
		}
		text, err := assetFiles.ReadFile(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		hash := sha256.Sum256(text)
		base := path.Base(name)
		address := "/assets/" + hex.EncodeToString(hash[:6]) + "/" + base
		a.byPath[address], a.paths[base] = asset{assetKind(name), text}, address
		return nil
	})
	if err != nil {
		return assets{}, fmt.Errorf("reading the files of the dashboard: %w", err)
	}
	return a, nil
}

// path returns the address of a file.
func (a assets) path(name string) (string, error) {
	if address, ok := a.paths[name]; ok {
		return address, nil
	}
	return "", fmt.Errorf("no file %s", name)
}

// has reports whether a file has the address.
func (a assets) has(address string) bool {
	_, ok := a.byPath[address]
	return ok
}

// handler serves the files.
func (a assets) handler() http.Handler {
	return gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := a.byPath[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", file.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(file.text) // a browser that is gone needs no file
	}))
}
