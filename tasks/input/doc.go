// Package input reads messages from a file: NDJSON, a message a line, or CSV
// with a header, either of them gzipped or not. A line that is no message is
// handed on as an error with its number, and the lines after it are read all
// the same. Memory does not grow with the file, nor with its longest line.
package input
