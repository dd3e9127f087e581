// Package persist repeats a write to the store until it is stored.
package persist
