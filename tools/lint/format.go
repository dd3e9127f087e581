package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	gofumpt "mvdan.cc/gofumpt/format"
)

// format reports a file that "make fmt" would change.
func format() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "format",
		Doc:  "check the formatting",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				name := pass.Fset.Position(file.Package).Filename
				text, err := pass.ReadFile(name)
				if err != nil {
					return nil, fmt.Errorf("reading: %w", err)
				}
				formatted, err := formatText(text)
				if err != nil {
					return nil, err
				}
				if !bytes.Equal(text, formatted) {
					line := 1 + bytes.Count(text[:common(text, formatted)], []byte("\n"))
					f := pass.Fset.File(file.Package)
					pass.Reportf(f.LineStart(min(line, f.LineCount())), "run make fmt")
				}
			}
			return nil, nil
		},
	}
}

func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// formatFolders formats the Go files in folders, and prints the names of those that change.
func formatFolders(folders []string) error {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name := entry.Name(); entry.IsDir() && path != folder && (name[0] == '.' || name == "node_modules" || name == "testdata") {
				return filepath.SkipDir
			}
			if entry.IsDir() || filepath.Ext(path) != ".go" {
				return nil
			}
			return formatFile(path)
		})
		if err != nil {
			return fmt.Errorf("formatting: %w", err)
		}
	}
	return nil
}

func formatFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	formatted, err := formatText(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(text, formatted) {
		return nil
	}
	fmt.Println(path)
	if err := os.WriteFile(path, formatted, 0o644); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// formatText formats a file as gofumpt does, and sorts its imports into three groups: the standard
// library, others, this project.
func formatText(text []byte) ([]byte, error) {
	text, err := groupImports(text)
	if err != nil {
		return nil, err
	}
	formatted, err := gofumpt.Source(text, gofumpt.Options{LangVersion: "go1.26", ModulePath: module})
	if err != nil {
		return nil, fmt.Errorf("formatting: %w", err)
	}
	return formatted, nil
}

// groupImports rewrites the list of imports of a file. It skips files with several declarations of
// imports, comments between them, or an import of C.
func groupImports(text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parsing: %w", err)
	}
	if len(file.Decls) != 1 {
		return text, nil
	}
	d, ok := file.Decls[0].(*ast.GenDecl)
	if !ok || d.Tok != token.IMPORT || !d.Lparen.IsValid() {
		return text, nil
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	attached := make(map[*ast.CommentGroup]bool)
	var groups [3][]importLine
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ImportSpec)
		if !ok {
			return text, nil
		}
		path, err := strconv.Unquote(s.Path.Value)
		if err != nil || path == "C" {
			return text, nil
		}
		from, to := s.Pos(), s.End()
		if s.Doc != nil {
			from, attached[s.Doc] = s.Doc.Pos(), true
		}
		if s.Comment != nil {
			to, attached[s.Comment] = s.Comment.End(), true
		}
		n := importGroup(path)
		groups[n] = append(groups[n], importLine{path, string(text[offset(from):offset(to)])})
	}
	for _, c := range file.Comments {
		if c.Pos() > d.Lparen && c.End() < d.Rparen && !attached[c] {
			return text, nil
		}
	}
	var list strings.Builder
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b importLine) int { return cmp.Compare(a.path, b.path) })
		if len(group) > 0 && list.Len() > 0 {
			list.WriteString("\n")
		}
		for _, line := range group {
			list.WriteString("\t" + line.text + "\n")
		}
	}
	return slices.Concat(text[:offset(d.Lparen)+1], []byte("\n"+list.String()), text[offset(d.Rparen):]), nil
}

type importLine struct{ path, text string }

func importGroup(path string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == module || strings.HasPrefix(path, module+"/"):
		return 2
	case strings.Contains(first, "."):
		return 1
	default:
		return 0
	}
}
