// Package campaigns pauses and resumes campaigns.
//
// A paused campaign is a field of one small hash. Programs that deliver read the whole hash
// about once a second, and pass the Set to each claim: see messages.Delivery. The gate then
// lets a message of the campaign wait, at its place, which counts for all others. It looks
// at such a message once an hour, or when it expires.
//
// To resume a campaign, remove the pause, wait for Lag, and call ResumeMessage for each of
// its messages: they are judged as late messages are. Whoever dies in between loses nothing:
// the hourly look finds the rest, and resuming again goes on.
//
// The package knows nothing of requests, and does not find the messages: see package find.
package campaigns
