// Package channel is "sendlimit-worker channel": it shows the channels that deliver, checks their
// credentials, sends test pushes, resumes stopped channels and makes keys for Web Push.
package channel
