package sendlimit

// PolicyOf returns what a user's messages were judged by in the last call about
// them: the policy that their settings name, with limits of their own in place. It
// asks nobody, so of a user of whom there was no call yet it may not be that.
func (t *Timeline) PolicyOf(user string) Policy { return t.book.of(user).rules.policy }
