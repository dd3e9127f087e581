// Package deadletters is "sendlimit-worker dead-letters": it lists, shows, retries and purges
// messages, alerts and reports that were given up.
//
// Retrying or purging all of them asks first, unless --yes is given.
package deadletters
