// Package picture draws on a terminal why a time was refused, how full a user's rules are,
// which stretches of time are free, and what became of a message.
package picture
