package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/tomarrell/wrapcheck/v2/wrapcheck"
	"golang.org/x/tools/go/analysis"
)

// standIn matches methods of io and slog.Handler, whose callers compare the errors.
var standIn = regexp.MustCompile(`^(Close|Handle|Read|Write)$`)

// wrappedErrors checks that an error of another module leaves a package with what was being done.
// Inside the package it may be returned bare, up to the function that wraps it; an exported
// function that returns it bare is reported, even if others passed it on. Errors of contexts, and
// errors that a function literal returns, may be bare. In tests an error goes straight to require,
// which prints its origin.
func wrappedErrors() *analysis.Analyzer {
	config := wrapcheck.NewDefaultConfig()
	config.IgnorePackageGlobs = []string{module + "/*"}
	config.ExtraIgnoreSigs = []string{"(context.Context).Err("}
	config.ReportInternalErrors = true
	a := wrapcheck.NewAnalyzer(config)
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		var returned []analysis.Diagnostic
		gathering := *pass
		gathering.Report = func(d analysis.Diagnostic) {
			if !strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") {
				returned = append(returned, d)
			}
		}
		result, err := run(&gathering)
		reportLeaving(pass, returned)
		return result, err
	}
	return a
}

// reportLeaving reports the exported functions that return an error of another module, or one of
// their own package, which may be such an error.
func reportLeaving(pass *analysis.Pass, returned []analysis.Diagnostic) {
	bare := make(map[string]bool) // unexported functions, by signature
	for grown := true; grown; {
		grown = false
		returned = slices.DeleteFunc(returned, func(d analysis.Diagnostic) bool {
			sentence, called, _ := strings.Cut(d.Message, ": sig: ")
			f := functionAround(pass, d.Pos)
			switch {
			case strings.HasPrefix(sentence, "package-internal") && !bare[called]:
				return false
			case f == nil || standIn.MatchString(f.Name.Name):
			case f.Name.IsExported():
				pass.Report(d)
			default:
				bare[pass.TypesInfo.ObjectOf(f.Name).String()] = true
				grown = true
			}
			return true
		})
	}
}

// functionAround returns the function of a return, or nil if it is a literal.
func functionAround(pass *analysis.Pass, at token.Pos) (f *ast.FuncDecl) {
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil || at < n.Pos() || n.End() < at {
				return false
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				f = n
			case *ast.FuncLit:
				f = nil
			}
			return true
		})
	}
	return f
}
