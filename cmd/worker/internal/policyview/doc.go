// Package policyview shows policies to people: as YAML, and as the list of fields in which two
// policies differ. It hides secrets in contacts.
package policyview
