// Package picture draws on a terminal: why a time was refused, how full a user's rules are, which
// times are free, the history of a message, and a campaign's messages over time. A Histogram counts
// those in bounded memory; it need not know the range beforehand.
package picture
