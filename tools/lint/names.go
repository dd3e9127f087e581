package main

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// refused is a name of another package that this code does not use, except in files whose paths
// match.
type refused struct {
	name   string
	reason string
	except *regexp.Regexp
}

const (
	noClock    = "take the time or a clock as an argument"
	noContext  = "take a context: use the variant that does"
	ownContext = "pass on the context of the caller"
	weak       = "use SHA-256 or better"
	noTimeouts = "set the timeouts of an http.Server"
)

// Programs own the clock and the first context, and code that runs against real servers waits for
// them.
var ownsClock = regexp.MustCompile(`^(cmd|bench|integration|tools|notifier/notifiertest|sendlimit/sendlimittest|tasks/taskstest|tasks/worldtest)/|_test\.go$`)

// begins matches where a context begins.
var begins = regexp.MustCompile(`^examples/.*/main\.go$|` + ownsClock.String())

// refusedNames are functions, methods, variables, and fields by the name of their package.
var refusedNames = []refused{ //nolint:globals // a constant table
	{"time.Now", noClock, ownsClock},
	{"time.Sleep", noClock, ownsClock},
	{"time.After", noClock, ownsClock},
	{"time.LoadLocation", "call calendar.ParseTimeZone, which has the same zones on every machine", nil},
	{"context.Background", ownContext, begins},
	{"context.TODO", ownContext, nil},
	// A test with less coverage in short mode would never run in full.
	{"testing.Short", "call sendlimittest.Long, which skips the whole test", nil},

	{"net.Dial", noContext, nil},
	{"net.DialTimeout", noContext, nil},
	{"net.Listen", noContext, nil},
	{"net.ListenPacket", noContext, nil},
	{"net.LookupAddr", noContext, nil},
	{"net.LookupHost", noContext, nil},
	{"net.LookupIP", noContext, nil},
	{"net.LookupMX", noContext, nil},
	{"net.LookupTXT", noContext, nil},
	{"crypto/tls.Dial", noContext, nil},
	{"net/http.Get", noContext, nil},
	{"net/http.Head", noContext, nil},
	{"net/http.Post", noContext, nil},
	{"net/http.PostForm", noContext, nil},
	{"net/http.NewRequest", noContext, nil},
	{"(*net/http.Client).Get", noContext, nil},
	{"(*net/http.Client).Head", noContext, nil},
	{"(*net/http.Client).Post", noContext, nil},
	{"(*net/http.Client).PostForm", noContext, nil},
	{"net/http/httptest.NewRequest", noContext, nil},
	{"os/exec.Command", noContext, nil},

	{"net/http.ListenAndServe", noTimeouts, nil},
	{"net/http.ListenAndServeTLS", noTimeouts, nil},
	{"net/http.Serve", noTimeouts, nil},
	{"net/http.DefaultServeMux", "create a mux: the default one is shared by everything", nil},
	{"field crypto/tls.InsecureSkipVerify", "check the certificate", nil},
	{"crypto/md5.New", weak, nil},
	{"crypto/md5.Sum", weak, nil},
	{"crypto/sha1.New", weak, nil},
	{"crypto/sha1.Sum", weak, nil},
}

func names() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "names",
		Doc:  "refuse the names in the table refusedNames",
		Run: func(pass *analysis.Pass) (any, error) {
			table := make(map[string]refused, len(refusedNames))
			for _, r := range refusedNames {
				table[r.name] = r
			}
			for _, file := range pass.Files {
				path := pathOf(pass, file)
				ast.Inspect(file, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					if !ok {
						return true
					}
					r, ok := table[fullName(pass.TypesInfo.Uses[id])]
					if ok && (r.except == nil || !r.except.MatchString(path)) {
						pass.Reportf(id.Pos(), "%s is refused: %s", r.name, r.reason)
					}
					return true
				})
			}
			return nil, nil
		},
	}
}

// fullName returns the name of an object as in the table, or "".
func fullName(object types.Object) string {
	switch o := object.(type) {
	case *types.Func:
		return o.FullName()
	case *types.Var:
		switch {
		case o.Pkg() == nil:
		case o.IsField():
			return "field " + o.Pkg().Path() + "." + o.Name()
		case o.Parent() == o.Pkg().Scope():
			return o.Pkg().Path() + "." + o.Name()
		}
	}
	return ""
}

// pathOf returns the path of a file in this repository.
func pathOf(pass *analysis.Pass, file *ast.File) string {
	name := pass.Fset.Position(file.Package).Filename
	name = name[strings.LastIndexByte(name, '/')+1:]
	path, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pass.Pkg.Path(), module), "/"), " ")
	path = strings.TrimSuffix(path, "_test")
	if path == "" {
		return name
	}
	return path + "/" + name
}

func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }
