// Command generate writes the dashboard for Grafana, sendlimit.json beside this folder:
//
//	go generate ./grafana/generate
//
// The panels are in panels.go. Tests look that the file is what the command writes, that each
// metric it asks for exists, and that each panel has a unit and a sentence.
package main

//go:generate go run . ../sendlimit.json
