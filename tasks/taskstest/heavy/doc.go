// Package heavy has the calls with the highest cost for the store: users with very many places,
// policies with the maximum of rules. A test counts the work of each, and a benchmark measures its
// time.
package heavy
