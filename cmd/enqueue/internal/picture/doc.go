// Package picture draws on a terminal why a time was refused, how full a user's rules are,
// and which stretches of time are free.
package picture
