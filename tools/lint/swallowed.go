package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// swallowed reports an error that is dropped: a block is entered because it is not nil, does not
// use it, and ends with "return nil".
func swallowed() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "swallowed",
		Doc:  "check that no error is dropped on the way to a nil",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				ast.Inspect(file, func(n ast.Node) bool {
					if s, ok := n.(*ast.IfStmt); ok {
						if err := notNil(pass, s.Cond); err != nil && returnsNilError(pass, s.Body) && !mentions(pass, s.Body, err) {
							pass.Reportf(s.Body.List[len(s.Body.List)-1].Pos(), "%s is not nil here, but it is dropped", err.Name())
						}
					}
					return true
				})
			}
			return nil, nil
		},
	}
}

// notNil returns the error that a condition compares with nil, or nil.
func notNil(pass *analysis.Pass, condition ast.Expr) types.Object {
	b, ok := condition.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ || !pass.TypesInfo.Types[b.Y].IsNil() {
		return nil
	}
	id, ok := b.X.(*ast.Ident)
	if !ok || !types.Identical(pass.TypesInfo.TypeOf(id), types.Universe.Lookup("error").Type()) {
		return nil
	}
	return pass.TypesInfo.Uses[id]
}

// returnsNilError reports whether a block ends with a return whose last value is nil in place of an
// error.
func returnsNilError(pass *analysis.Pass, block *ast.BlockStmt) bool {
	if len(block.List) == 0 {
		return false
	}
	r, ok := block.List[len(block.List)-1].(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return false
	}
	last := pass.TypesInfo.Types[r.Results[len(r.Results)-1]]
	return last.IsNil() && endsInError(pass, r)
}

// endsInError reports whether the function around a return has an error as its last result.
func endsInError(pass *analysis.Pass, r *ast.ReturnStmt) bool {
	var signature *ast.FuncType
	for _, file := range pass.Files {
		if r.Pos() < file.Pos() || file.End() < r.Pos() {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil || r.Pos() < n.Pos() || n.End() < r.End() {
				return false
			}
			switch f := n.(type) {
			case *ast.FuncDecl:
				signature = f.Type
			case *ast.FuncLit:
				signature = f.Type
			}
			return true
		})
	}
	if signature == nil || signature.Results == nil {
		return false
	}
	list := signature.Results.List
	return types.Identical(pass.TypesInfo.TypeOf(list[len(list)-1].Type), types.Universe.Lookup("error").Type())
}

func mentions(pass *analysis.Pass, block *ast.BlockStmt, object types.Object) bool {
	found := false
	ast.Inspect(block, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && pass.TypesInfo.Uses[id] == object {
			found = true
		}
		return !found
	})
	return found
}
