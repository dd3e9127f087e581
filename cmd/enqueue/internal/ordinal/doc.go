// Package ordinal counts how often it has seen each of many keys. Its memory is bounded:
// past a bound it counts in a table in a temporary file.
package ordinal
