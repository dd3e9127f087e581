package message

// Values of Outcome.Others.
const (
	AllOfOthers  = "all"
	SomeOfOthers = "some"
)

// NoteOthers notes in a refusal whether messages of other accounts are in the way. Such conflicts
// have no id.
func (o *Outcome) NoteOthers() {
	total, others := 0, 0
	for _, v := range o.Violations {
		total += v.ConflictsTotal
		for _, c := range v.Conflicts {
			if c.ID == "" {
				others++
			}
		}
	}
	switch {
	case others == total && others > 0:
		o.Others = AllOfOthers
		o.Detail += "; all messages in the way are other accounts'"
	case others > 0:
		o.NoteSomeOfOthers()
	}
}

// NoteSomeOfOthers notes that some of the messages in the way are other accounts'.
func (o *Outcome) NoteSomeOfOthers() {
	o.Others = SomeOfOthers
	o.Detail += "; some messages in the way are other accounts'"
}
