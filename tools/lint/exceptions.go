package main

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// exception is a //nolint comment.
type exception struct {
	pos       token.Pos
	text      string
	file      string
	from, to  int // lines that it covers
	analyzers map[string]bool
	used      map[string]bool
	reason    string
}

var exceptionForm = regexp.MustCompile(`^//\s*nolint\b(?::([A-Za-z0-9_,]+))?\s*(?://\s*(.*))?$`)

// found are the exceptions of the packages that are being checked.
var found struct { //nolint:globals // the analyzers of a package share it
	sync.Mutex
	of map[*types.Package][]*exception
}

// exceptable makes exceptions in the code silence an analyzer, and adds its name to its messages.
func exceptable(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		all := exceptionsOf(pass)
		heeding := *pass
		heeding.Report = func(d analysis.Diagnostic) {
			if !excepted(all, a.Name, pass.Fset.Position(d.Pos)) {
				d.Message += " (" + a.Name + ")"
				pass.Report(d)
			}
		}
		return run(&heeding)
	}
}

func excepted(all []*exception, analyzer string, at token.Position) bool {
	found.Lock()
	defer found.Unlock()
	silenced := false
	for _, e := range all {
		if e.file == at.Filename && e.from <= at.Line && at.Line <= e.to && e.analyzers[analyzer] {
			e.used[analyzer] = true
			silenced = true
		}
	}
	return silenced
}

func exceptionsOf(pass *analysis.Pass) []*exception {
	found.Lock()
	defer found.Unlock()
	if all, ok := found.of[pass.Pkg]; ok {
		return all
	}
	var all []*exception
	for _, file := range pass.Files {
		all = append(all, exceptionsIn(pass.Fset, file)...)
	}
	if found.of == nil {
		found.of = make(map[*types.Package][]*exception)
	}
	found.of[pass.Pkg] = all
	return all
}

func exceptionsIn(fset *token.FileSet, file *ast.File) []*exception {
	var all []*exception
	starts := make(map[int]*exception) // by the first line that they cover
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !strings.Contains(c.Text, "nolint") || !strings.HasPrefix(strings.TrimLeft(c.Text, "/ "), "nolint") {
				continue
			}
			at := fset.Position(c.Pos())
			e := &exception{
				pos: c.Pos(), text: c.Text, file: at.Filename, from: at.Line, to: at.Line,
				analyzers: make(map[string]bool), used: make(map[string]bool),
			}
			if m := exceptionForm.FindStringSubmatch(c.Text); m != nil {
				e.reason = m[2]
				for name := range strings.SplitSeq(m[1], ",") {
					if name != "" {
						e.analyzers[name] = true
					}
				}
			}
			all = append(all, e)
			starts[at.Line] = e
			// A comment on its own line covers the code below it.
			if c == group.List[len(group.List)-1] && alone(fset, file, c) {
				starts[at.Line+1] = e
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if _, whole := n.(*ast.File); !whole {
			if e := starts[fset.Position(n.Pos()).Line]; e != nil {
				e.to = max(e.to, fset.Position(n.End()).Line)
			}
		}
		return true
	})
	return all
}

// alone reports whether a line has only a comment: no node begins or ends on it before the comment.
func alone(fset *token.FileSet, file *ast.File, c *ast.Comment) bool {
	line, only := fset.Position(c.Pos()).Line, true
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.File:
			return true
		}
		if fset.Position(n.Pos()).Line == line || fset.Position(n.End()).Line == line {
			only = false
		}
		return only
	})
	return only
}

// exceptions returns the analyzer that reports an exception without a name or a reason, with an
// unknown name, or that silenced nothing.
func exceptions(all []*analysis.Analyzer) *analysis.Analyzer {
	known := make(map[string]bool)
	for _, a := range all {
		known[a.Name] = true
	}
	return &analysis.Analyzer{
		Name:     "nolint",
		Doc:      "check that an exception names its analyzers, is needed, and says why",
		Requires: all,
		Run: func(pass *analysis.Pass) (any, error) {
			for _, e := range exceptionsOf(pass) {
				switch {
				case len(e.analyzers) == 0:
					pass.Reportf(e.pos, "name the analyzer: //nolint:NAME // REASON")
				case e.reason == "":
					pass.Reportf(e.pos, "give the reason: %s // REASON", e.text)
				}
				for _, name := range slices.SortedFunc(maps.Keys(e.analyzers), cmp.Compare) {
					switch {
					case !known[name]:
						pass.Reportf(e.pos, "there is no analyzer %s", name)
					case !e.used[name]:
						pass.Reportf(e.pos, "%s reports nothing here: remove the exception", name)
					}
				}
			}
			return nil, nil
		},
	}
}
