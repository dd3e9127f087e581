// Package heavy has the calls that cost the store most: users with very many places,
// policies with as many rules as are allowed. A test counts the work of each, and a
// benchmark measures its time.
package heavy
