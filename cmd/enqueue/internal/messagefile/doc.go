// Package messagefile makes of a file the lines that package bulk submits, and
// counts their outcomes. What a file leaves out is filled in, and lines without
// an id get one by which the file can be run again.
package messagefile
