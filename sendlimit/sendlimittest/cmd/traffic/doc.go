// Traffic prints the traffic that the limiters are tested with as messages,
// one in JSON a line, to be submitted in that order:
//
//	go run ./sendlimit/sendlimittest/cmd/traffic -lines 2000 | go run ./cmd/enqueue bulk -
//
// On standard error it says where the traffic is from.
package main
