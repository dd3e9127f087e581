// Package cli is what the programs share on the command line: exit statuses,
// signals, errors as one sentence or one JSON line, times as people write
// them, and output that has colour on a terminal only.
package cli
