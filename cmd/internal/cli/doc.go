// Package cli is the part of the command line that both programs share.
//
//   - Main runs a program: signals, the last error, the exit status.
//   - Program is what a command gets from its process: environment, streams, settings.
//   - Execute runs a cobra command and turns its mistakes into a UsageError.
//   - Report and ReportJSON print an error as one sentence or one line of JSON.
//   - ParseTime and the Format functions read and write times and numbers for people.
//   - Progress, Ask and Palette use a terminal if there is one.
//
// It opens no store and knows no command.
package cli
