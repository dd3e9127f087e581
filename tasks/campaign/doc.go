// Package campaign counts the messages of a campaign, and does something with all of them:
// cancels, moves, pauses and resumes them.
//
// It goes through the index of campaigns, page by page, and rests between pages, so that it
// uses at most about half of the store's time. Cancel and Resume can be stopped and called
// again, since what they do twice is as if done once.
//
// A move must not move a message twice. So before it moves the messages of a page, it notes in
// the store what it is about to move, and from when. Whoever goes on moves only those that
// still stand there. All messages of a user are moved when the first of them in the order of
// the index is met: the latest first, or the earliest first if they become earlier, so that
// they do not get in each other's way.
package campaign
