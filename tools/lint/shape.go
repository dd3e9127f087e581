package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// globals refuses package variables and init functions. It allows constant errors, compiled
// patterns, embedded files and checks of types. The scripts in lua are variables with the embedded
// text.
func globals() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "globals",
		Doc:  "refuse package variables and init functions",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				if strings.HasPrefix(pathOf(pass, file), "lua/") {
					continue
				}
				for _, decl := range file.Decls {
					switch d := decl.(type) {
					case *ast.FuncDecl:
						if d.Recv == nil && d.Name.Name == "init" {
							pass.Reportf(d.Pos(), "there are no init functions here: call what it does where it is needed")
						}
					case *ast.GenDecl:
						if d.Tok == token.VAR {
							reportGlobals(pass, d)
						}
					}
				}
			}
			return nil, nil
		},
	}
}

func reportGlobals(pass *analysis.Pass, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || embeds(d.Doc) || embeds(s.Doc) {
			continue
		}
		for i, name := range s.Names {
			if name.Name == "_" || isError(pass, name) || i < len(s.Values) && compiles(pass, s.Values[i]) {
				continue
			}
			pass.Reportf(name.Pos(), "%s is a global variable: keep it where it is used", name.Name)
		}
	}
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

func isError(pass *analysis.Pass, name *ast.Ident) bool {
	errors, ok := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	object := pass.TypesInfo.Defs[name]
	return ok && object != nil && strings.HasPrefix(strings.ToLower(name.Name), "err") && types.Implements(object.Type(), errors)
}

func compiles(pass *analysis.Pass, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && fullName(pass.TypesInfo.Uses[selector.Sel]) == "regexp.MustCompile"
}

// fields refuses a context in a struct: it is an argument.
func fields() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "fields",
		Doc:  "refuse a context in a struct",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				ast.Inspect(file, func(n ast.Node) bool {
					s, ok := n.(*ast.StructType)
					if !ok {
						return true
					}
					for _, field := range s.Fields.List {
						if t := pass.TypesInfo.TypeOf(field.Type); t != nil && types.TypeString(t, nil) == "context.Context" {
							pass.Reportf(field.Pos(), "a context is an argument, not a field")
						}
					}
					return true
				})
			}
			return nil, nil
		},
	}
}

// comments checks that exported names have a comment which begins with the name.
func comments() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "comments",
		Doc:  "check the comments of exported names",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				if isTest(pathOf(pass, file)) {
					continue
				}
				for _, decl := range file.Decls {
					switch d := decl.(type) {
					case *ast.FuncDecl:
						if d.Name.IsExported() && exportedReceiver(d) && !wellKnown(d) {
							requireComment(pass, d.Name, d.Doc)
						}
					case *ast.GenDecl:
						commentsOf(pass, d)
					}
				}
			}
			return nil, nil
		},
	}
}

func commentsOf(pass *analysis.Pass, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if doc := s.Doc; s.Name.IsExported() {
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				requireComment(pass, s.Name, doc)
			}
		case *ast.ValueSpec:
			// A comment on a group covers all of it.
			if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				pass.Reportf(s.Pos(), "%s is exported and has no comment", s.Names[0].Name)
			}
			if len(d.Specs) == 1 && !d.Lparen.IsValid() && s.Names[0].IsExported() && d.Doc != nil {
				requireComment(pass, s.Names[0], d.Doc)
			}
		}
	}
}

func requireComment(pass *analysis.Pass, name *ast.Ident, doc *ast.CommentGroup) {
	text := doc.Text()
	if text == "" {
		pass.Reportf(name.Pos(), "%s is exported and has no comment", name.Name)
		return
	}
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if rest, ok := strings.CutPrefix(text, name.Name); !ok || rest != "" && !strings.ContainsAny(rest[:1], " \n,.:'") {
		pass.Reportf(name.Pos(), "the comment of %s does not begin with its name", name.Name)
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.IsExported()
		default:
			return false
		}
	}
}

// wellKnown reports whether a method has a meaning that everybody knows.
func wellKnown(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "Read", "ServeHTTP", "String", "Write", "Unwrap", "Len", "Less", "Swap":
		return true
	}
	return false
}
