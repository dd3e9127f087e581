package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/nishanths/exhaustive/passes/enumerated"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
)

// module is the path of the checked code, and the prefix of its packages' paths.
const module = "github.com/sendlimit/sendlimiter"

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "fmt" {
		if err := formatFolders(args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "lint:", err)
			os.Exit(1)
		}
		return
	}
	if len(args) > 0 && strings.HasSuffix(args[len(args)-1], ".cfg") && foreign(args[len(args)-1]) {
		unitchecker.Run(args[len(args)-1], facts())
	}
	unitchecker.Main(analyzers()...)
}

// facts returns the analyzers for packages of other modules: they find constants, deprecated names,
// functions that print and functions that do not return. All analyzers would take minutes when Go's
// build cache is cold.
func facts() []*analysis.Analyzer {
	return []*analysis.Analyzer{ctrlflow.Analyzer, deprecated.Analyzer, enumerated.Analyzer, printf.Analyzer}
}

// foreign reports whether a task of go vet is about a package of another module.
func foreign(config string) bool {
	text, err := os.ReadFile(config)
	if err != nil {
		return false // unitchecker reports it
	}
	var unit struct{ ImportPath string }
	if err := json.Unmarshal(text, &unit); err != nil {
		return false
	}
	return unit.ImportPath != module && !strings.HasPrefix(unit.ImportPath, module+"/")
}
