// Command peers compares sendlimit with what a team would build instead: a queue, and a limiter of its
// own. Each side is a program in a folder here with dependencies of its own, which speaks the protocol of
// package side. The harness starts stores and sides, lets the sides take turns, and writes README.md here,
// its plots and results.json:
//
//	make bench-peers
package main
