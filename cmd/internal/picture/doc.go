// Package picture draws on a terminal why a time was refused, how full a user's rules are,
// which stretches of time are free, what became of a message, and how many messages of a campaign
// would be sent when. A Histogram counts those in bounded memory: it need not know the time span
// beforehand.
package picture
