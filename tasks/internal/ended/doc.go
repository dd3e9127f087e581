// Package ended tells a program which campaigns have ended, so that it accepts nothing for them.
//
// A submit would be a round trip slower if it asked the store first. So a look is used for a second,
// and a script that takes a place on its ground refuses to run later than two seconds after it. A
// campaign ends for good after messages.EndLag, which is longer.
package ended
