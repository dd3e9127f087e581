package main

import (
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	testifylint "github.com/Antonboom/testifylint/analyzer"
	"github.com/charithe/durationcheck"
	"github.com/gostaticanalysis/forcetypeassert"
	"github.com/ldez/usetesting"
	"github.com/nishanths/exhaustive/passes/exhaustive"
	"go-simpler.org/sloglint"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/deepequalerrors"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpmux"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/reflectvaluecompare"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/sortslice"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// analyzers returns all analyzers. The last one reports exceptions that the others did not need.
func analyzers() []*analysis.Analyzer {
	all := []*analysis.Analyzer{
		// Vet's, except those for cgo and assembly.
		appends.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, composite.Analyzer,
		copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer, hostport.Analyzer, httpresponse.Analyzer,
		ifaceassert.Analyzer, loopclosure.Analyzer, lostcancel.Analyzer, nilfunc.Analyzer, printf.Analyzer, shift.Analyzer,
		sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer, stdversion.Analyzer, stringintconv.Analyzer,
		structtag.Analyzer, testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer,
		unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
		// Those that vet leaves out.
		deepequalerrors.Analyzer, httpmux.Analyzer, reflectvaluecompare.Analyzer, scannererr.Analyzer, sortslice.Analyzer,
		// From other authors.
		durationcheck.Analyzer,
		with(errorlint.NewAnalyzer(), "errorf=true", "errorf-multi=true"),
		with(exhaustive.Analyzer, "d=true"), // a default covers the rest
		forcetypeassert.Analyzer,
		sloglint.New(&sloglint.Options{NoGlobalLogger: "all", StaticMessage: true, KeyNamingCase: "snake", NoMixedArguments: true}),
		with(testifylint.New(), "formatter.require-string-msg=false"),
		with(usetesting.NewAnalyzer(), "contextbackground=true", "contexttodo=true"),
		wrappedErrors(),
		// Our own.
		unhandled(), swallowed(), unusedCode(), names(), globals(), fields(), comments(), format(),
	}
	for _, some := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range some {
			if name := a.Analyzer.Name; !a.Doc.NonDefault || name == "ST1000" || name == "ST1016" {
				all = append(all, a.Analyzer)
			}
		}
	}
	for _, a := range all {
		exceptable(a)
	}
	return append(all, exceptions(all))
}

// with sets flags of an analyzer.
func with(a *analysis.Analyzer, flags ...string) *analysis.Analyzer {
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		if err := a.Flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	return a
}
