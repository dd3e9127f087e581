// Package campaign counts, cancels, moves, pauses and resumes the messages of a campaign.
//
// A cancel first marks the campaign as ended, and waits until every program knows it. So no message
// is accepted behind its back, as by a file that is being submitted. Reopen removes the mark.
//
// It goes through the index of campaigns, page by page, and rests between pages, so that it
// uses at most about half of the store's time. Cancel and Resume are idempotent: they can be stopped
// and called again.
//
// A move must not move a message twice. So before it moves the messages of a page, it stores a plan
// with their present send times. A later run moves only those that still have them. All messages of a
// user are moved together, when the index has the first of them: the latest first, or the earliest
// first if they become earlier, so that they do not conflict with each other.
package campaign
