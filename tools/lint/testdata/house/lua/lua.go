// Package lua has variables.
package lua

// Script is text.
var Script = []string{"a"}
