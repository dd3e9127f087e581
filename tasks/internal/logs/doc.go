// Package logs keeps a program's log short while something fails for many messages.
//
// Limited lines are warnings, errors, and other lines with a reason. Equal ones are logged once in
// a Window: the first one at once, and at the end of the window the last one with `repeated`, the
// number of those left out. Lines are equal if they have the same sentence and the same values of
// the attributes that say what failed and why, such as channel and reason. Callers can choose some
// of these, such as the hosts of callbacks: of each sentence, at most MaxKinds kinds are told apart,
// and all further ones count as equal. So the log has a limited number of lines, and the Limiter
// a limited size, since sentences are fixed in the code.
//
// At debug level, each line is logged, with the id of its message. Other levels show no id.
package logs
