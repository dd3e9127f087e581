// Package auditlog is "worker audit", which lists the changes that operators made.
package auditlog
