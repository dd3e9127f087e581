package main

import (
	"fmt"
	"go/token"
	"regexp"

	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// harmless are calls whose error matters little: closing, flushing, removing and printing.
var harmless = regexp.MustCompile(`(Close|Flush|[Pp]rint(f|ln)?|^os\.Remove(All)?|^os\.(Un)?[Ss]etenv)$|^(os\.)?[Ss]td(out|err)\.`)

// unhandled reports an error of a call that is ignored.
func unhandled() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "errcheck",
		Doc:      "check that errors are handled",
		Requires: []*analysis.Analyzer{errcheck.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			result, ok := pass.ResultOf[errcheck.Analyzer].(errcheck.Result)
			if !ok {
				return nil, fmt.Errorf("errcheck returned %T", pass.ResultOf[errcheck.Analyzer])
			}
			for _, e := range result.UncheckedErrors {
				name := e.SelectorName
				if name == "" {
					name = e.FuncName
				}
				if !harmless.MatchString(name) && !harmless.MatchString(e.FuncName) {
					pass.Reportf(posOf(pass, e.Pos), "the error of %s is not handled", name)
				}
			}
			return nil, nil
		},
	}
}

// unusedCode reports code that nothing uses. Tests in a package are included: code that only they
// use is used.
func unusedCode() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "unused",
		Doc:      "check for unused code",
		Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			result, ok := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
			if !ok {
				return nil, fmt.Errorf("unused returned %T", pass.ResultOf[unused.Analyzer.Analyzer])
			}
			for _, o := range result.Unused {
				pass.Reportf(posOf(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
			}
			return nil, nil
		},
	}
}

// posOf returns a position in the files of a pass.
func posOf(pass *analysis.Pass, at token.Position) token.Pos {
	for _, file := range pass.Files {
		if f := pass.Fset.File(file.Pos()); f.Name() == at.Filename {
			return f.Pos(at.Offset)
		}
	}
	return token.NoPos
}
