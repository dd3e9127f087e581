// Package messagefile turns a file into the lines that package bulk submits, and counts their
// outcomes. It fills in missing fields, and derives ids for lines without one so that the file can
// be run again.
package messagefile
