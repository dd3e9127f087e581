// Package taskstest has code shared by tests that run submitters and workers.
package taskstest
